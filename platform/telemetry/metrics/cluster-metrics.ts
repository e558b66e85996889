import { CLUSTER_STATES, type ClusterDescription } from '../../../core/cluster.ts';
import { describeClusters, type ClusterSnapshot } from '../../../core/cluster-snapshot.ts';
import { createClusterWatchMetrics, type ClusterWatchMetrics } from './cluster-watch-metrics.ts';
import { createCounter, createGauge, type Family, type Sample } from './families.ts';

export interface ClusterMetrics extends ClusterWatchMetrics {
  /** A probe was answered well, was not, or was cut by news. */
  probed(result: boolean | 'cut'): void;
}

const DAY_MS = 86_400_000;

/**
 * Gauges of the linked clusters, made of what Redis holds at each scrape: nothing is counted up and
 * down, and a cluster that is gone leaves no series behind. Every process shows the same.
 */
export function createClusterMetrics(read: () => ClusterSnapshot | null): {
  readonly record: ClusterMetrics;
  readonly families: readonly Family[];
} {
  const probes = createCounter(
    'tether_cluster_probes_total',
    'Times that a cluster was asked whether it can be watched, by result.',
    ['result'],
    [['ok'], ['failed'], ['cut']],
  );
  const gauges = [...stateGauges(read), conflictGauge(read), ...credentialGauges(read)];
  const watches = createClusterWatchMetrics();
  return {
    families: [probes, ...gauges, ...watches.families],
    record: {
      ...watches.record,
      probed: (result) => probes.add(1, result === 'cut' ? 'cut' : result ? 'ok' : 'failed'),
    },
  };
}

function stateGauges(read: () => ClusterSnapshot | null): Family[] {
  const gauge = (
    suffix: string,
    help: string,
    value: (one: ClusterDescription, now: number) => number | null,
  ): Family =>
    createGauge(`tether_cluster_${suffix}`, help, ['cluster'], () => {
      const snapshot = read();
      return describeAll(snapshot).flatMap((one): Sample[] => {
        const found = value(one, snapshot?.now ?? 0);
        return found === null ? [] : [[found, one.cluster]];
      });
    });
  return [
    createGauge(
      'tether_cluster_state',
      'State of each linked cluster: 1 for the one that it is in, 0 for the others.',
      ['cluster', 'state'],
      () =>
        describeAll(read()).flatMap((one) =>
          CLUSTER_STATES.map((state): Sample => [one.state === state ? 1 : 0, one.cluster, state]),
        ),
    ),
    gauge('objects', 'Objects of a linked cluster in the view.', (one) => one.objects),
    gauge('sync_age_seconds', 'Time since a linked cluster was last in sync.', (one, now) =>
      one.syncedAt === null ? null : Math.max(0, now - one.syncedAt) / 1000,
    ),
    gauge('attempts', 'Failed tries in a row, of the probe or a watch.', (one) => one.attempts),
    gauge(
      'content_age_seconds',
      'Time since the present content of a cluster’s Secret was first seen.',
      (one, now) => Math.max(0, now - one.loadedAt) / 1000,
    ),
  ];
}

function conflictGauge(read: () => ClusterSnapshot | null): Family {
  const help = 'Secrets whose cluster another Secret describes as well, and owns.';
  return createGauge('tether_cluster_conflicts', help, ['cluster'], () => conflicts(read()));
}

function credentialGauges(read: () => ClusterSnapshot | null): Family[] {
  const ends = (): { readonly cluster: string; readonly leftMs: number; readonly at: number }[] => {
    const snapshot = read();
    return describeAll(snapshot).flatMap(({ cluster, expiresAt: at }) =>
      at === null ? [] : [{ cluster, at, leftMs: at - (snapshot?.now ?? 0) }],
    );
  };
  return [
    createGauge(
      'tether_cluster_credential_expiry_timestamp_seconds',
      'When the credential in use for a cluster ends, seconds since 1970; none where it says nothing.',
      ['cluster'],
      () => ends().map(({ cluster, at }): Sample => [at / 1000, cluster]),
    ),
    createGauge(
      'tether_cluster_credential_expiring',
      'Whether the credential in use for a cluster ends within this time (1) or not (0).',
      ['cluster', 'within'],
      () =>
        ends().flatMap(({ cluster, leftMs }): Sample[] => [
          [leftMs <= DAY_MS ? 1 : 0, cluster, '1d'],
          [leftMs <= 7 * DAY_MS ? 1 : 0, cluster, '7d'],
        ]),
    ),
  ];
}

function describeAll(snapshot: ClusterSnapshot | null): ClusterDescription[] {
  return snapshot === null ? [] : describeClusters(snapshot);
}

function conflicts(snapshot: ClusterSnapshot | null): Sample[] {
  const counts = new Map<string, number>();
  for (const { cluster, verdict } of snapshot?.decisions ?? []) {
    if (verdict === 'Conflict') counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
  }
  return [...counts].map(([cluster, count]): Sample => [count, cluster]);
}
