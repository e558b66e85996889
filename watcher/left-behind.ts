import type { ApiObject } from '../core/api-objects.ts';
import { managedBySelector } from '../core/managers.ts';
import { namespacePredicate, type NamespaceFilter } from '../core/namespace-filter.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { PATHS } from '../platform/kube/endpoint-api.ts';

/** Slices of ours in a namespace that nobody serves: they stay as they are, right or wrong. */
export interface LeftBehind {
  readonly namespace: string;
  readonly slices: number;
}

/** Whether a namespace is served by one at least; a filter that is not known serves all. */
export function servedByAny(
  filters: readonly (NamespaceFilter | undefined)[],
): (namespace: string) => boolean {
  const predicates = filters.map((filter) =>
    filter === undefined ? () => true : namespacePredicate(filter),
  );
  return (namespace) => predicates.some((accepts) => accepts(namespace));
}

/**
 * Counts our slices in namespaces that are not served, by namespace: one list of metadata.
 *
 * @throws ApiError, UnreachableError of the list.
 */
export async function findLeftBehind(
  client: KubeClient,
  manager: string,
  served: (namespace: string) => boolean,
  signal: AbortSignal,
): Promise<LeftBehind[]> {
  const labelSelector = managedBySelector({ manager, adopt: [] });
  const what = 'list endpointslices of ours in all namespaces';
  const options = { what, signal, labelSelector, metadataOnly: true };
  const counts = new Map<string, number>();
  for await (const page of client.list<ApiObject>(PATHS.slice, options)) {
    if (page.restarted) counts.clear();
    for (const { metadata } of page.items) {
      const namespace = metadata?.namespace ?? '';
      if (!served(namespace)) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    }
  }
  return [...counts]
    .map(([namespace, slices]) => ({ namespace, slices }))
    .sort((a, b) => (a.namespace < b.namespace ? -1 : 1));
}

/** What to do about them. */
export const LEFT_BEHIND_HINT =
  'Nobody keeps them right. Serve their namespaces again, or remove them: ' +
  'tether uninstall --purge --namespace NAME';
