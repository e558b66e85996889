import { claimTurn } from '../../platform/redis/claims.ts';
import { createClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import { openQueue } from '../../platform/redis/queue/work-queue.ts';
import { createClusterTransitions } from '../../platform/telemetry/cluster-transitions.ts';
import { traceAdds } from '../../platform/telemetry/tracing/traced-queue.ts';
import { keepResyncing } from '../../watcher/resync.ts';
import { SecretWatcher } from '../../watcher/secret-watcher.ts';
import { countAdds } from './counted-queue.ts';
import { inBackground } from './in-background.ts';
import type { Runtime } from './runtime.ts';

/** How late a change of a cluster's state is told at most, ms. */
const LOOK_EVERY_MS = 1_000;
/** A probe takes ten seconds at most: a Secret that is unknown for longer than that was lost, ms. */
const FIND_EVERY_MS = 12_000;

/** Follows cluster Secrets and has them looked at; tells people how the clusters are. */
export function startClusterSecrets(runtime: Runtime): { stop(): Promise<void> } {
  const { config, redis, client, events, log, metrics } = runtime;
  const prefix = config.redisPrefix;
  const ending = new AbortController();
  const opened = openQueue({ name: 'cluster', prefix, log, redis });
  const queue = traceAdds(countAdds(opened, metrics.clusterQueue), 'cluster', runtime.tracer);
  const registry = createClusterRegistry(redis, prefix);
  const watcher = new SecretWatcher({
    client,
    namespace: config.namespace,
    enqueue: (adds) => queue.addEvents(adds),
    registered: async () => (await registry.decisions()).map(({ secret }) => secret),
    idleMs: config.watchIdleMs,
    log,
    now: Date.now,
  });
  runtime.onRedisBack(() =>
    inBackground(runtime, watcher.enqueueAll('the connection to Redis was lost')),
  );
  const inspect = (): Promise<void> => watcher.inspect(ending.signal);
  inBackground(runtime, inspect());
  const claim = (ms: number) => claimTurn(redis, prefix, 'resync-clusters', runtime.id, ms);
  const { signal } = ending;
  const resync = { what: 'clusters', intervalMs: config.resyncMs, now: Date.now, log, signal };
  inBackground(runtime, keepResyncing({ ...resync, claim, watcher, queue, inspect }));
  const transitions = createClusterTransitions({ redis, prefix, registry, log, events });
  // While Redis is away there is nothing to tell or to find; its outage is in the log already.
  const quietly = (work: Promise<void>): void => void work.catch(() => undefined);
  const timers = [
    setInterval(() => quietly(transitions.tellAll()), LOOK_EVERY_MS),
    setInterval(() => quietly(watcher.enqueueUnknown()), FIND_EVERY_MS),
  ];
  return {
    stop: async () => {
      ending.abort();
      for (const timer of timers) clearInterval(timer);
      await watcher.stop();
      await queue.close();
    },
  };
}
