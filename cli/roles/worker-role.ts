import { randomUUID } from 'node:crypto';
import type { ReconcileDeps } from '../../functions/reconcile-service.ts';
import { createRunReport } from '../../functions/run-report.ts';
import { createServiceHandler } from '../../functions/worker.ts';
import { createEndpointApi } from '../../platform/kube/endpoint-api.ts';
import { startConsumer, type Consumer } from '../../platform/redis/queue/consumer.ts';
import { createIdentitySource } from '../../platform/redis/view/identity-source.ts';
import { createServiceView } from '../../platform/redis/view/service-view.ts';
import { flagCheck, freshnessCheck, type Check } from '../../platform/telemetry/health.ts';
import { startClusterWorker } from './cluster-worker.ts';
import type { Role, Runtime } from './runtime.ts';

/** The queue is looked at every second; silence for so long means a worker that hangs, ms. */
const SILENCE_MS = 30_000;

/** Takes Service keys from the queue and makes their slices true. Any number may run. */
export async function startWorkerRole(runtime: Runtime): Promise<Role> {
  const { config, redisUrl, stuck, log, metrics } = runtime;
  const reconcile = await reconcileDeps(runtime);
  const consumer = startConsumer({
    redisUrl,
    prefix: config.redisPrefix,
    name: 'service',
    concurrency: config.concurrency,
    log,
    handle: createServiceHandler({ stuck, log, metrics, reconcile }),
    onInvalid: (id, error) => log.warn({ job: id, field: error.field }, error.message),
  });
  const clusters = startClusterWorker(runtime, () => consumer.health().active);
  return {
    ready: Promise.resolve(),
    liveness: [livenessOf('queue', consumer), livenessOf('cluster-queue', clusters.consumer)],
    readiness: [connectedCheck(consumer)],
    stop: async () => {
      const [{ unfinished }] = await Promise.all([consumer.drain(config.drainMs), clusters.stop()]);
      if (unfinished > 0) log.warn({ unfinished }, 'runs were cut short and put back');
      await runtime.events.flush();
    },
  };
}

async function reconcileDeps(runtime: Runtime): Promise<ReconcileDeps> {
  const { config, redis, clusterUid } = runtime;
  const prefix = config.redisPrefix;
  const monotonicMs = (): number => performance.now();
  const identity = await createIdentitySource(redis, prefix, clusterUid, monotonicMs);
  const report = createRunReport(runtime);
  return {
    view: createServiceView({ redis, prefix, identity: identity.current }),
    api: createEndpointApi(runtime.client),
    plan: config,
    report: {
      ...report,
      viewMissed: (key, why) => {
        report.viewMissed(key, why);
        identity.refresh();
      },
    },
    clock: { now: () => new Date(), monotonicMs },
    random: Math.random,
    token: randomUUID,
  };
}

/** While Redis is away there is nothing to look at; a restart would not help. */
function livenessOf(name: string, consumer: Consumer): Check {
  const ageMs = (): number | null => {
    const { connected, lastProgressMs } = consumer.health();
    return connected ? lastProgressMs : null;
  };
  return freshnessCheck({ name, ageMs, limitMs: SILENCE_MS });
}

function connectedCheck(consumer: Consumer): Check {
  const connected = (): boolean => consumer.health().connected;
  return flagCheck('redis', connected, 'connected', 'Redis does not answer');
}
