import type { ClusterDecision, ClusterWatch } from '../../core/cluster.ts';
import type { LeftOut, LeftOutReason } from '../../core/outcome.ts';
import { createMetrics, type Metrics } from '../../platform/telemetry/metrics.ts';
import { acceptedDecision } from './accepted-decision.ts';
import { readSeries, type Series } from './promql.ts';

/** What a process exports that has seen everything once: each metric, with each kind of label value. */
export async function fullMetrics(): Promise<{
  readonly text: string;
  readonly series: readonly Series[];
}> {
  const metrics = createMetrics();
  recordRuns(metrics);
  recordRequests(metrics);
  recordWatches(metrics);
  recordLookups(metrics);
  metrics.shareFrom(() =>
    Promise.resolve({
      depth: { service: 1, cluster: 1 },
      oldestMs: { service: 1, cluster: 1 },
      stuck: 1,
      noEviction: true,
      clusters: {
        now: Date.now(),
        watches: new Map([['east', aWatch('east')]]),
        decisions: [
          aDecision('east'),
          { ...aDecision('east'), secret: 'tether/west', verdict: 'Conflict' },
        ],
      },
    }),
  );
  const text = await metrics.render();
  return { text, series: readSeries(text) };
}

const REASONS: readonly LeftOutReason[] = ['no-address', 'address-refused', 'port-unresolved'];

function recordRuns({ queue, clusterQueue, reconcile, onEvent }: Metrics): void {
  for (const each of [queue, clusterQueue]) {
    each.added(1);
    each.started('done', 1);
    each.finished('done');
    each.started('under way', 1);
    each.retried();
  }
  const leftOut = REASONS.map((reason): LeftOut => ({
    workload: reason,
    uid: reason,
    reason,
    detail: '',
    warn: false,
  }));
  const numbers = {
    created: 1,
    updated: 1,
    deleted: 1,
    endpoints: 2,
    ready: 1,
    changed: 1,
    slices: 1,
  };
  reconcile.finished('ns/a', 'done', { ...numbers, names: [], leftOut, read: 'view' });
  reconcile.finished('ns/a', 'retry');
  reconcile.finished('ns/a', 'terminal');
  reconcile.eventToWrite(1);
  reconcile.lockLost();
  reconcile.viewMissed();
  for (const result of ['created', 'repeated', 'failed', 'dropped'] as const) onEvent(result);
}

function recordRequests({ api, trigger }: Metrics): void {
  for (const verb of ['create', 'update', 'delete']) {
    for (const code of [200, 404, 409, 403, 500, 0]) api.onRequest(verb, 'endpointslices', code, 1);
  }
  api.onRequest('watch', 'services', 200, 1);
  trigger.answered(202);
}

function recordWatches({ watch, cluster }: Metrics): void {
  const kinds = ['service', 'workload', 'slice'];
  for (const kind of kinds) {
    watch.restarted(kind);
    watch.relistChanged(kind, 1);
  }
  watch.leftBehindFrom(() => 1);
  watch.contactsFrom(() => kinds.map((kind) => [kind, 1] as const));
  const counts = kinds.map((kind) => ({ kind, contactMs: 1, restarts: 1, changes: 1 }));
  cluster.watchesFrom(() => [['east', counts]]);
  for (const result of [true, false, 'cut'] as const) cluster.probed(result);
}

function recordLookups({ lookup }: Metrics): void {
  for (const code of [200, 304, 404, 503]) lookup.answered(code);
  for (const hit of [true, false]) lookup.cached(hit);
  lookup.delivered(1);
  lookup.slowReader();
  lookup.stateFrom(() => ({ subscribers: 1, services: 1, endpoints: 1 }));
}

function aDecision(cluster: string): ClusterDecision {
  return acceptedDecision(cluster, { generation: 1, hash: 'a', expiresAt: Date.now() + 1_000 });
}

function aWatch(cluster: string): ClusterWatch {
  const now = Date.now();
  return {
    cluster,
    owner: 'me',
    at: now,
    serving: 1,
    working: 1,
    healthy: true,
    reason: '',
    attempts: 0,
    nextTryAt: null,
    syncedAt: now,
    objects: 1,
  };
}
