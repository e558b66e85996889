import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ApiObject } from '../../core/api-objects.ts';
import { describeError } from '../../core/errors.ts';
import { namespacePredicate } from '../../core/namespace-filter.ts';
import { formatKey } from '../../core/object-key.ts';
import { claimTurn } from '../../platform/redis/claims.ts';
import type { WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { createIdentityStore } from '../../platform/redis/view/identity.ts';
import { noteClusterUid } from '../../platform/redis/view/local-services.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import { beatWatcher, forgetWatcher } from '../../platform/redis/watchers.ts';
import { flagCheck, freshnessCheck, type Check } from '../../platform/telemetry/health.ts';
import type { LocalDiscovery } from '../../watcher/clusters/local-discovery.ts';
import { LocalWatcher, type WatchReport } from '../../watcher/local-watcher.ts';
import { findOtherManagers, type OtherManager } from '../../watcher/other-managers.ts';
import { keepResyncing } from '../../watcher/resync.ts';
import { KINDS } from '../../watcher/view-keeper.ts';
import { startClusterSecrets } from './cluster-secrets.ts';
import { startAfterLocal } from './head-start.ts';
import { createLocalDiscovery, startRemoteClusters } from './remote-clusters.ts';
import { inBackground } from './in-background.ts';
import type { Role, Runtime } from './runtime.ts';

const BEAT_MS = 3_000;

/** Watches the cluster, keeps the view, enqueues what is dirty. Any number may run. */
export async function startWatcherRole(runtime: Runtime): Promise<Role> {
  const { config, redis } = runtime;
  const ending = new AbortController();
  const queue = countAdds(runtime);
  const discovery = createLocalDiscovery(config);
  const watcher = await openWatcher(runtime, queue, discovery);
  const stopBeating = startBeating(runtime, watcher);
  const clusters = startAfterLocal(
    watcher.ready,
    () => [startClusterSecrets(runtime), startRemoteClusters(runtime, discovery)],
    (error) =>
      runtime.log.error(
        { error: describeError(error) },
        'linked clusters are not watched by this process: restart it',
      ),
  );
  startBackgroundWork(runtime, watcher, queue, ending.signal);
  return {
    ready: watcher.ready,
    liveness: livenessOf(watcher, config.watchIdleMs),
    readiness: [
      flagCheck('view', () => watcher.health().inSync, 'in sync', 'not all kinds were listed yet'),
    ],
    stop: async () => {
      ending.abort();
      stopBeating();
      await Promise.all([watcher.stop(), clusters.stop()]);
      await forgetWatcher(redis, config.redisPrefix, runtime.id).catch(() => undefined);
    },
  };
}

/** What goes on beside the watches: rebuilding after an outage of Redis, resyncs, other managers. */
function startBackgroundWork(
  runtime: Runtime,
  watcher: LocalWatcher,
  queue: WorkQueue,
  signal: AbortSignal,
): void {
  const { config, redis, log, metrics } = runtime;
  metrics.watch.contactsFrom(() =>
    [...watcher.health().kinds].map(([kind, health]) => [kind, health.lastContactMs] as const),
  );
  runtime.onRedisBack(() =>
    inBackground(runtime, watcher.rebuild('the connection to Redis was lost')),
  );
  const inspect = (): Promise<void> => warnOfOtherManagers(runtime);
  const claim = (ms: number): Promise<boolean> =>
    claimTurn(redis, config.redisPrefix, 'resync', runtime.id, ms);
  const intervalMs = config.resyncMs;
  inBackground(
    runtime,
    keepResyncing({
      what: 'services',
      intervalMs,
      claim,
      watcher,
      queue,
      log,
      now: Date.now,
      inspect,
      signal,
    }),
  );
  inBackground(runtime, watcher.ready.then(inspect));
}

async function openWatcher(
  runtime: Runtime,
  queue: WorkQueue,
  discovery: LocalDiscovery,
): Promise<LocalWatcher> {
  const { config, redis, client, clusterUid, log } = runtime;
  const prefix = config.redisPrefix;
  const identities = createIdentityStore(redis, prefix, clusterUid);
  return new LocalWatcher({
    client,
    queue,
    openView: (identity) => createViewWriter(redis, { prefix, identity }, randomUUID),
    identities,
    history: await identities.history(),
    manager: config.manager,
    accepts: namespacePredicate({
      include: config.includeNamespaces,
      exclude: config.excludeNamespaces,
    }),
    idleMs: config.watchIdleMs,
    log,
    now: Date.now,
    random: Math.random,
    report: watchReport(runtime),
    tapServices: (sink) => discovery.tap(sink),
  });
}

/** A watch may be silent up to its limit, and then takes a while to come back. */
function livenessOf(watcher: LocalWatcher, idleMs: number): Check[] {
  return KINDS.map((kind) =>
    freshnessCheck({
      name: `watch-${kind}`,
      ageMs: () => {
        const health = watcher.health().kinds.get(kind);
        // A broken watch that keeps trying is alive; one that neither tries nor hears is not.
        return health?.state.kind === 'watching' ? health.lastContactMs : null;
      },
      limitMs: idleMs * 3,
    }),
  );
}

function watchReport({ log, metrics }: Runtime): WatchReport {
  return {
    state: (kind, state) => {
      if (state.kind === 'retrying') metrics.watch.restarted(kind);
      if (state.kind === 'waiting-for-kind') log.warn({ kind, reason: state.reason }, 'waiting');
    },
    foundByRelist: (kind, count) => {
      metrics.watch.relistChanged(kind, count);
      if (count > 0) log.warn({ kind, count }, 'a list found changes that the watch had missed');
    },
  };
}

function countAdds({ queue, metrics }: Runtime): WorkQueue {
  return {
    ...queue,
    addEvents: async (adds) => {
      await queue.addEvents(adds);
      metrics.queue.added(adds.length);
    },
    addResync: async (adds) => {
      await queue.addResync(adds);
      metrics.queue.added(adds.length);
    },
  };
}

/** Says in Redis that this watcher lives, and how its watches are; for `tether status`. */
function startBeating(runtime: Runtime, watcher: LocalWatcher): () => void {
  const beat = (): void => {
    const kinds = [...watcher.health().kinds];
    const states = Object.fromEntries(kinds.map(([kind, { state }]) => [kind, state.kind]));
    const entry = { id: runtime.id, host: hostname(), pid: process.pid, states };
    const { redis, clusterUid, config } = runtime;
    beatWatcher(redis, config.redisPrefix, entry).catch(() => undefined);
    noteClusterUid(redis, config.redisPrefix, clusterUid).catch(() => undefined);
  };
  const timer = setInterval(beat, BEAT_MS);
  beat();
  void watcher.ready.then(beat);
  return () => clearInterval(timer);
}

async function warnOfOtherManagers(runtime: Runtime): Promise<void> {
  const { client, config, signal } = runtime;
  for (const found of await findOtherManagers(client, config.manager, signal)) {
    await warnOf(runtime, found);
  }
}

/** An Event on a Service whose workloads somebody else turns into endpoints as well. */
async function warnOf(runtime: Runtime, found: OtherManager): Promise<void> {
  const { client, config, events, signal } = runtime;
  const { namespace, name } = found.key;
  const path = `/api/v1/namespaces/${namespace}/services/${name}`;
  const what = `get service ${formatKey(found.key)}`;
  const service = await client.get<ApiObject>(path, { what, signal }).catch(() => null);
  const uid = service?.metadata?.uid;
  if (uid === undefined) return;
  const who = found.manager === '' ? 'a writer that names no manager' : found.manager;
  events.emit({
    regarding: { apiVersion: 'v1', kind: 'Service', namespace, name, uid },
    type: 'Warning',
    reason: 'SeveralEndpointSliceManagers',
    message: `${who} writes EndpointSlices for this Service beside ${config.manager}; endpoints may be doubled or outdated`,
  });
}
