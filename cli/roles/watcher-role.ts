import { randomUUID } from 'node:crypto';
import { describeError } from '../../core/errors.ts';
import { namespacePredicate } from '../../core/namespace-filter.ts';
import { viewScope } from '../../core/view-scope.ts';
import { persistently } from '../../platform/process/persistently.ts';
import { claimTurn } from '../../platform/redis/claims.ts';
import type { WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { createIdentityStore } from '../../platform/redis/view/identity.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import { flagCheck, freshnessCheck, type Check } from '../../platform/telemetry/health.ts';
import { traceAdds } from '../../platform/telemetry/tracing/traced-queue.ts';
import type { LocalDiscovery } from '../../watcher/clusters/local-discovery.ts';
import { LocalWatcher, type WatchReport } from '../../watcher/local-watcher.ts';
import { keepResyncing } from '../../watcher/resync.ts';
import { KINDS } from '../../watcher/view-keeper.ts';
import { startClusterSecrets } from './cluster-secrets.ts';
import { countAdds } from './counted-queue.ts';
import { startAfterLocal } from './head-start.ts';
import { createLocalDiscovery, startRemoteClusters } from './remote-clusters.ts';
import { inBackground } from './in-background.ts';
import { reportLeftBehind } from './left-behind.ts';
import { warnOfOtherManagers } from './other-writers.ts';
import type { Role, Runtime } from './runtime.ts';
import { startWatcherLife } from './watcher-beats.ts';

/** Watches the cluster, keeps the view, enqueues what is dirty. Any number may run. */
export async function startWatcherRole(runtime: Runtime): Promise<Role> {
  const { config } = runtime;
  const ending = new AbortController();
  const counted = countAdds(runtime.queue, runtime.metrics.queue);
  const queue = traceAdds(counted, 'service', runtime.tracer);
  const discovery = createLocalDiscovery(config);
  const watcher = await openWatcher(runtime, queue, discovery);
  const life = startWatcherLife(runtime, watcher, queue);
  const clusters = startAfterLocal({
    ready: watcher.ready,
    load: () => serviceKeys(runtime.queue),
    start: () => [startClusterSecrets(runtime), startRemoteClusters(runtime, discovery)],
    onError: (error) =>
      runtime.log.error(
        { error: describeError(error) },
        'linked clusters are not watched by this process: restart it',
      ),
  });
  startBackgroundWork(runtime, watcher, queue, ending.signal);
  return {
    ready: watcher.ready,
    liveness: livenessOf(watcher, config.watchIdleMs),
    readiness: [
      flagCheck('view', () => watcher.health().inSync, 'in sync', 'not all kinds were listed yet'),
    ],
    stop: async () => {
      ending.abort();
      const wasLast = await life.end();
      await Promise.all([watcher.stop(wasLast), clusters.stop()]);
    },
  };
}

/** Keys that wait or are under way, in all processes; those that back off are in nobody's way. */
async function serviceKeys(queue: WorkQueue): Promise<number> {
  const { waiting, prioritized, active } = await queue.counts();
  return waiting + prioritized + active;
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
  const rebuild = (): Promise<void> => watcher.rebuild('the connection to Redis was lost');
  runtime.onRedisBack(() => void persistently(runtime, 'filling the view anew', rebuild));
  const inspect = (): Promise<void> => warnOfOtherManagers(runtime, false);
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
  const look = () =>
    Promise.all([warnOfOtherManagers(runtime, true), reportLeftBehind(runtime, signal)]);
  inBackground(runtime, watcher.ready.then(look));
}

async function openWatcher(
  runtime: Runtime,
  queue: WorkQueue,
  discovery: LocalDiscovery,
): Promise<LocalWatcher> {
  const { config, redis, client, clusterUid, log } = runtime;
  const prefix = config.redisPrefix;
  const scope = viewScope(clusterUid, config.adopt);
  const identities = createIdentityStore(redis, prefix, scope);
  return new LocalWatcher({
    client,
    queue,
    openView: (identity) => createViewWriter(redis, { prefix, identity }, randomUUID),
    identities,
    history: await identities.history(),
    manager: config.manager,
    adopt: config.adopt,
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
