import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ApiObject } from '../../core/api-objects.ts';
import { describeError } from '../../core/errors.ts';
import { namespacePredicate } from '../../core/namespace-filter.ts';
import { formatKey } from '../../core/object-key.ts';
import { claimTurn } from '../../platform/redis/claims.ts';
import { openQueue, type WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import {
  currentIdentity,
  firstIdentity,
  observeListVersion,
} from '../../platform/redis/view/identity.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import { beatWatcher, forgetWatcher } from '../../platform/redis/watchers.ts';
import { flagCheck, freshnessCheck } from '../../platform/telemetry/health.ts';
import { startLocalWatcher, type LocalWatcher } from '../../watcher/local-watcher.ts';
import { findOtherManagers, type OtherManager } from '../../watcher/other-managers.ts';
import { startResync } from '../../watcher/resync.ts';
import type { Role, Runtime } from './runtime.ts';

const BEAT_MS = 3_000;

/** Watches the cluster, keeps the view, enqueues what is dirty. Any number may run. */
export async function startWatcherRole(runtime: Runtime): Promise<Role> {
  const { config, redis, log, clusterUid } = runtime;
  const prefix = config.redisPrefix;
  const queue = openQueue({ name: 'service', prefix, log, redis });
  const counted: WorkQueue = countAdds(queue, runtime);
  const watcher = startLocalWatcher({
    client: runtime.client,
    queue: counted,
    openView: (identity) => createViewWriter(redis, { prefix, identity }, randomUUID),
    identity: (await currentIdentity(redis, prefix, clusterUid)) ?? firstIdentity(clusterUid),
    observeList: (kind, version) => observeListVersion(redis, prefix, clusterUid, kind, version),
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
  });
  runtime.onRedisBack(() => {
    watcher.rebuild('the connection to Redis was lost').catch((error: unknown) => {
      log.warn({ error: describeError(error) }, 'filling the view anew failed');
    });
  });
  const resync = startResync({
    intervalMs: config.resyncMs,
    claim: (intervalMs) => claimTurn(redis, prefix, 'resync', runtime.id, intervalMs),
    watcher,
    queue: counted,
    log,
    now: Date.now,
    inspect: () => warnOfOtherManagers(runtime),
  });
  const beat = startBeating(runtime, watcher);
  const firstLook = watcher.ready.then(() => warnOfOtherManagers(runtime));
  firstLook.catch((error: unknown) => {
    log.debug({ error: describeError(error) }, 'could not look for slices of other managers');
  });
  return {
    ready: watcher.ready,
    liveness: livenessOf(watcher, config.watchIdleMs),
    readiness: [
      flagCheck('view', () => watcher.health().inSync, 'in sync', 'not all kinds were listed yet'),
    ],
    stop: async () => {
      resync.stop();
      beat.stop();
      await watcher.stop();
      await forgetWatcher(redis, prefix, runtime.id).catch(() => undefined);
      await queue.close();
    },
  };
}

/** A watch may be silent up to its limit, and then takes a while to come back. */
function livenessOf(watcher: LocalWatcher, idleMs: number): Role['liveness'] {
  return (['service', 'workload', 'slice'] as const).map((kind) =>
    freshnessCheck({
      name: `watch-${kind}`,
      ageMs: () => {
        const health = watcher.health().kinds[kind];
        // A broken watch that keeps trying is alive; one that neither tries nor hears is not.
        return health.state.kind === 'watching' ? health.lastContactMs : null;
      },
      limitMs: idleMs * 3,
    }),
  );
}

function watchReport({ log, metrics }: Runtime): Parameters<typeof startLocalWatcher>[0]['report'] {
  return {
    state: (kind, state) => {
      metrics.watch.contact(kind);
      if (state.kind === 'retrying') metrics.watch.restarted(kind);
      if (state.kind === 'waiting-for-kind') log.warn({ kind, reason: state.reason }, 'waiting');
    },
    foundByRelist: (kind, count) => {
      metrics.watch.relistChanged(kind, count);
      if (count > 0) log.warn({ kind, count }, 'a list found changes that the watch had missed');
    },
    rebuilt: () => undefined,
  };
}

function countAdds(queue: WorkQueue, { metrics }: Runtime): WorkQueue {
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

function startBeating(runtime: Runtime, watcher: LocalWatcher): { stop(): void } {
  const beat = (): void => {
    const { kinds } = watcher.health();
    const states = Object.fromEntries(
      Object.entries(kinds).map(([kind, health]) => [kind, health.state.kind]),
    );
    const entry = { id: runtime.id, host: hostname(), pid: process.pid, states };
    beatWatcher(runtime.redis, runtime.config.redisPrefix, entry).catch(() => undefined);
  };
  const timer = setInterval(beat, BEAT_MS);
  beat();
  return { stop: () => clearInterval(timer) };
}

async function warnOfOtherManagers(runtime: Runtime): Promise<void> {
  const { client, config, signal } = runtime;
  for (const found of await findOtherManagers(client, config.manager, signal)) {
    await warnOf(runtime, found);
  }
}

/** An Event on a Service whose workloads somebody else turns into endpoints as well. */
async function warnOf({ client, config, events, signal }: Runtime, found: OtherManager) {
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
