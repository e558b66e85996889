import { createCounter, createGauge, type Family, type Sample } from './families.ts';

/** What the watches on the API server record, by resource. */
export interface WatchMetrics {
  restarted(resource: string): void;
  /** Differences that only a list brought to light: what a watch should have told. */
  relistChanged(resource: string, count: number): void;
  /** Says where the age of the last contact (ms) comes from; asked at each scrape. */
  contactsFrom(read: () => Iterable<readonly [resource: string, ageMs: number]>): void;
  /** Says where the number of our slices in namespaces that are not served comes from. */
  leftBehindFrom(read: () => number): void;
}

export function createWatchMetrics(): {
  readonly record: WatchMetrics;
  readonly families: readonly Family[];
} {
  const restarts = createCounter(
    'tether_watch_restarts_total',
    'Watches that broke and were begun anew.',
    ['resource'],
  );
  const changes = createCounter(
    'tether_relist_changes_total',
    'Changes that only a list found out: the watch had missed them.',
    ['resource'],
  );
  let readAges = (): Iterable<readonly [string, number]> => [];
  const since = createGauge(
    'tether_watch_last_contact_seconds',
    'Time since the API server last said anything on a watch, bookmarks included.',
    ['resource'],
    () => Array.from(readAges(), ([name, ageMs]): Sample => [ageMs / 1000, name]),
  );
  let readLeftBehind: (() => number) | null = null;
  const leftBehind = createGauge(
    'tether_left_behind_slices',
    'EndpointSlices of ours in namespaces that no watcher serves, when this one last looked.',
    [],
    () => (readLeftBehind === null ? [] : [[readLeftBehind()]]),
  );
  return {
    families: [restarts, changes, since, leftBehind],
    record: {
      restarted: (resource: string) => restarts.add(1, resource),
      relistChanged: (resource: string, count: number) => changes.add(count, resource),
      contactsFrom: (read: typeof readAges) => void (readAges = read),
      leftBehindFrom: (read: () => number) => void (readLeftBehind = read),
    },
  };
}
