import type { ObjectKey } from '../core/object-key.ts';
import { giveWay, type GiveWayDeps } from '../platform/process/give-way.ts';
import { hasNews, type DecidedDeps } from './cluster-news.ts';

export interface ServicesFirstDeps extends DecidedDeps, Pick<GiveWayDeps, 'load' | 'monotonicMs'> {
  /** Where cluster Secrets live: no other is read. */
  readonly namespace: string;
}

/** How long a cluster Secret lets Service keys go first at most, ms. */
const LONGEST_MS = 3_000;
/** The same for one that was changed: it is a fix, or a new credential, and somebody looks on. */
const LONGEST_WITH_NEWS_MS = 500;

/**
 * Resolves once a cluster Secret may be looked at beside the Service keys that are under way. Whether it
 * was changed is asked only when a burst of them lasts.
 */
export async function letServicesGoFirst(
  key: ObjectKey,
  deps: ServicesFirstDeps,
  signal: AbortSignal,
): Promise<void> {
  const { load, monotonicMs, namespace } = deps;
  const until = monotonicMs() + LONGEST_MS;
  if (await giveWay({ load, monotonicMs, longestMs: LONGEST_WITH_NEWS_MS }, signal)) return;
  if (key.namespace === namespace && (await hasNews(key, deps, signal))) return;
  await giveWay({ load, monotonicMs, longestMs: until - monotonicMs() }, signal);
}
