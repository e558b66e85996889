import { randomUUID } from 'node:crypto';
import { createRunReport } from '../../functions/run-report.ts';
import { createServiceHandler } from '../../functions/worker.ts';
import { createEndpointApi } from '../../platform/kube/endpoint-api.ts';
import { startConsumer } from '../../platform/redis/queue/consumer.ts';
import { openQueue } from '../../platform/redis/queue/work-queue.ts';
import { createStuckKeys } from '../../platform/redis/stuck.ts';
import { createIdentitySource } from '../../platform/redis/view/identity-source.ts';
import { createServiceView } from '../../platform/redis/view/service-view.ts';
import { freshnessCheck, flagCheck } from '../../platform/telemetry/health.ts';
import type { Role, Runtime } from './runtime.ts';

/** The queue is looked at every second; silence for so long means a worker that hangs, ms. */
const SILENCE_MS = 30_000;

/** Takes Service keys from the queue and makes their slices true. Any number may run. */
export async function startWorkerRole(runtime: Runtime): Promise<Role> {
  const { config, redis, redisUrl, log, metrics, clusterUid } = runtime;
  const prefix = config.redisPrefix;
  const monotonicMs = (): number => performance.now();
  const identity = await createIdentitySource(redis, prefix, clusterUid, monotonicMs);
  const stuck = createStuckKeys(redis, prefix);
  const report = createRunReport({ events: runtime.events, log, metrics });
  const queue = openQueue({ name: 'service', prefix, log, redis });

  const handle = createServiceHandler({
    stuck,
    log,
    metrics,
    reconcile: {
      view: createServiceView({ redis, prefix, identity: identity.current }),
      api: createEndpointApi(runtime.client),
      plan: {
        manager: config.manager,
        maxEndpointsPerSlice: config.maxEndpointsPerSlice,
        workloadsWithoutStatus: config.workloadsWithoutStatus,
        undeclaredPorts: config.undeclaredPorts,
      },
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
    },
  });
  const consumer = startConsumer({
    redisUrl,
    prefix,
    name: 'service',
    concurrency: config.concurrency,
    log,
    handle,
    onInvalid: (id, error) => log.warn({ job: id, field: error.field }, error.message),
  });
  metrics.shareFrom(async () => {
    const [counts, keys] = await Promise.all([queue.counts(), stuck.list()]);
    return { depth: counts.waiting + counts.prioritized, stuck: keys.length };
  });
  return {
    ready: Promise.resolve(),
    liveness: [
      freshnessCheck({
        name: 'queue',
        // While Redis is away there is nothing to look at; a restart would not help.
        ageMs: () => (consumer.health().connected ? consumer.health().lastProgressMs : null),
        limitMs: SILENCE_MS,
      }),
    ],
    readiness: [
      flagCheck('redis', () => consumer.health().connected, 'connected', 'Redis does not answer'),
    ],
    stop: async () => {
      const { unfinished } = await consumer.drain(config.drainMs);
      if (unfinished > 0) log.warn({ unfinished }, 'runs were cut short and put back');
      await runtime.events.flush();
      await queue.close();
    },
  };
}
