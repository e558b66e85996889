import type { QueueName } from '../../core/job.ts';
import { createClusterHandler } from '../../functions/cluster-worker.ts';
import { createServiceHandler } from '../../functions/worker.ts';
import type { Handle } from '../../platform/redis/queue/disposition.ts';
import { openQueue } from '../../platform/redis/queue/work-queue.ts';
import type { Check } from '../../platform/telemetry/health.ts';
import { traceAdds } from '../../platform/telemetry/tracing/traced-queue.ts';
import { traceRuns } from '../../platform/telemetry/tracing/traced-run.ts';
import { openApiGate } from './api-gate.ts';
import { clusterDeps } from './cluster-worker.ts';
import { countAdds } from './counted-queue.ts';
import type { Runtime } from './runtime.ts';
import { reconcileDeps } from './worker-role.ts';

/** What workers do with a key, for whoever takes keys from elsewhere than a queue. */
export interface OwnedHandles {
  readonly handles: Readonly<Record<QueueName, Handle>>;
  /** For /readyz: whether the API server answers. */
  readonly readiness: Check;
  close(): Promise<void>;
}

export async function createHandles(runtime: Runtime): Promise<OwnedHandles> {
  const { config, redis, stuck, log, metrics, tracer } = runtime;
  const opened = openQueue({ name: 'cluster', prefix: config.redisPrefix, log, redis });
  // Clusters that are to be tried again are left to workers.
  const queue = traceAdds(countAdds(opened, metrics.clusterQueue), 'cluster', tracer);
  // Nothing is to be paused: while the API server is away, each key is put off when it comes.
  const gate = openApiGate(runtime, () => ({ pause: () => undefined, resume: () => undefined }));
  const reconcile = await reconcileDeps(runtime, gate.gate);
  return {
    handles: {
      service: traceRuns(
        createServiceHandler({ stuck, log, metrics, reconcile }),
        'service',
        tracer,
      ),
      cluster: traceRuns(
        createClusterHandler({
          reconcile: clusterDeps(runtime, queue),
          log,
          metrics: metrics.clusterQueue,
          serviceRuns: () => 0,
          now: Date.now,
        }),
        'cluster',
        tracer,
      ),
    },
    readiness: gate.readiness,
    close: async () => {
      await gate.stop();
      await queue.close();
    },
  };
}
