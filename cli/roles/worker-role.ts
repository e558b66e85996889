import { randomUUID } from 'node:crypto';
import { viewScope } from '../../core/view-scope.ts';
import type { OutageWatch } from '../../functions/api-gate.ts';
import type { ReconcileDeps } from '../../functions/reconcile-service.ts';
import { createRunReport } from '../../functions/run-report.ts';
import { createServiceHandler } from '../../functions/worker.ts';
import { createEndpointApi } from '../../platform/kube/endpoint-api.ts';
import { startConsumer, type Consumer } from '../../platform/redis/queue/consumer.ts';
import { createIdentitySource } from '../../platform/redis/view/identity-source.ts';
import { createServiceView } from '../../platform/redis/view/service-view.ts';
import { flagCheck, freshnessCheck, type Check } from '../../platform/telemetry/health.ts';
import { traceRuns } from '../../platform/telemetry/tracing/traced-run.ts';
import { tracePlans, traceView } from '../../platform/telemetry/tracing/traced-steps.ts';
import { openApiGate } from './api-gate.ts';
import { startClusterWorker } from './cluster-worker.ts';
import type { Role, Runtime } from './runtime.ts';
import { startWorkerLife } from './worker-beats.ts';

/** The queue is looked at every second; silence for so long means a worker that hangs, ms. */
const SILENCE_MS = 30_000;

/** Takes Service keys from the queue and makes their slices true. Any number may run. */
export async function startWorkerRole(runtime: Runtime): Promise<Role> {
  const { config, redisUrl, stuck, log, metrics } = runtime;
  const gate = openApiGate(runtime, () => consumer);
  const reconcile = await reconcileDeps(runtime, gate.gate);
  const consumer = startConsumer({
    redisUrl,
    prefix: config.redisPrefix,
    name: 'service',
    concurrency: config.concurrency,
    log,
    handle: traceRuns(
      createServiceHandler({ stuck, log, metrics, reconcile }),
      'service',
      runtime.tracer,
    ),
    onInvalid: (id, error) => log.warn({ job: id, field: error.field }, error.message),
  });
  const life = startWorkerLife(runtime);
  const clusters = startClusterWorker(runtime, () => consumer.health().active);
  return {
    ready: Promise.resolve(),
    liveness: [livenessOf('queue', consumer), livenessOf('cluster-queue', clusters.consumer)],
    readiness: [connectedCheck(consumer), gate.readiness],
    stop: async () => {
      const drained = consumer.drain(config.drainMs);
      const [{ unfinished }] = await Promise.all([drained, clusters.stop(), gate.stop()]);
      if (unfinished > 0) log.warn({ unfinished }, 'runs were cut short and put back');
      await life.end();
      await runtime.events.flush();
    },
  };
}

/** What a run of a Service key stands on. */
export async function reconcileDeps(
  runtime: Runtime,
  outages?: OutageWatch,
): Promise<ReconcileDeps> {
  const { config, redis, clusterUid, tracer } = runtime;
  const prefix = config.redisPrefix;
  const monotonicMs = (): number => performance.now();
  const scope = viewScope(clusterUid, config.adopt);
  const identity = await createIdentitySource(redis, prefix, scope, monotonicMs);
  const report = createRunReport(runtime);
  const aroundPlan = tracePlans(tracer);
  return {
    view: traceView(createServiceView({ redis, prefix, identity: identity.current }), tracer),
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
    ...(aroundPlan === undefined ? {} : { aroundPlan }),
    ...(outages === undefined ? {} : { outages }),
  };
}

/** While Redis or the API server is away there is nothing to look at; a restart would not help. */
function livenessOf(name: string, consumer: Consumer): Check {
  const ageMs = (): number | null => {
    const { connected, paused, lastProgressMs } = consumer.health();
    return connected && !paused ? lastProgressMs : null;
  };
  return freshnessCheck({ name, ageMs, limitMs: SILENCE_MS });
}

function connectedCheck(consumer: Consumer): Check {
  const connected = (): boolean => consumer.health().connected;
  return flagCheck('redis', connected, 'connected', 'Redis does not answer');
}
