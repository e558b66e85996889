import { createGauge, createReadCounter, type Family, type Sample } from './families.ts';

/** How one watch of a linked cluster has gone so far. */
export interface ClusterWatchCounts {
  /** `service`, `slice` or `workload`. */
  readonly kind: string;
  /** Age of the last word of the API server, ms. */
  readonly contactMs: number;
  readonly restarts: number;
  /** Changes that only a list found. */
  readonly changes: number;
}

export interface ClusterWatchMetrics {
  /** Says where the watches of this process' clusters are; asked at each scrape. */
  watchesFrom(
    read: () => Iterable<readonly [cluster: string, counts: readonly ClusterWatchCounts[]]>,
  ): void;
}

/** What is told is what is watched now: the series of a cluster go with its watches. */
export function createClusterWatchMetrics(): {
  readonly record: ClusterWatchMetrics;
  readonly families: readonly Family[];
} {
  let read: Parameters<ClusterWatchMetrics['watchesFrom']>[0] = () => [];
  const samples = (value: (one: ClusterWatchCounts) => number) => (): Sample[] =>
    [...read()].flatMap(([cluster, counts]) =>
      counts.map((one): Sample => [value(one), cluster, one.kind]),
    );
  const labels = ['cluster', 'resource'];
  return {
    families: [
      createGauge(
        'tether_cluster_watch_last_contact_seconds',
        'Time since the API server of a linked cluster last said anything on a watch.',
        labels,
        samples((one) => one.contactMs / 1000),
      ),
      createReadCounter(
        'tether_cluster_watch_restarts_total',
        'Watches of a linked cluster that broke and were begun anew.',
        labels,
        samples((one) => one.restarts),
      ),
      createReadCounter(
        'tether_cluster_relist_changes_total',
        'Changes of a linked cluster that only a list found out: the watch had missed them.',
        labels,
        samples((one) => one.changes),
      ),
    ],
    record: { watchesFrom: (from) => void (read = from) },
  };
}
