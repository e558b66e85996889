import { VIEW_SCHEMA } from './codec.ts';

/**
 * Tells apart what views hold: the cluster, and whose slices beside our own. A watcher that is told to
 * take slices over fills a view of its own, and a worker that is told so reads no other one: else it
 * would miss slices that are there, and write their endpoints a second time.
 *
 * @param clusterUid UID of the kube-system namespace.
 */
export function viewScope(clusterUid: string, adopt: readonly string[]): string {
  return [clusterUid, ...adopt].join('+');
}

/** What a watcher says that it fills: watchers of one name keep one view, in turn or together. */
export function viewName(scope: string): string {
  return `${VIEW_SCHEMA} ${scope}`;
}
