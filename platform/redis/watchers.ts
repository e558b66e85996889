import type { RedisClient } from './client.ts';
import type { NamespaceFilter } from '../../core/namespace-filter.ts';
import { createBeats, type Beat, type Beats } from './beats.ts';

/** What a watcher says of itself. */
export interface WatcherBeat extends Beat {
  readonly states: Readonly<Record<string, string>>;
  /** The namespaces that it serves; absent in what an older release says. */
  readonly filter?: NamespaceFilter;
  /** Which view it feeds (core/view-scope.ts); absent likewise. */
  readonly view?: string;
}

/** What a worker says of itself. */
export type WorkerBeat = Beat;

export function watcherBeats(redis: RedisClient, prefix: string): Beats<WatcherBeat> {
  return createBeats(redis, prefix, 'watcher');
}

export function workerBeats(redis: RedisClient, prefix: string): Beats<WorkerBeat> {
  return createBeats(redis, prefix, 'worker');
}

/** Watchers that were heard of within the last ten seconds. */
export function liveWatchers(redis: RedisClient, prefix: string): Promise<WatcherBeat[]> {
  return watcherBeats(redis, prefix).live();
}
