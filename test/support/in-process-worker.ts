import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../core/logger.ts';
import { createRunReport } from '../../functions/run-report.ts';
import { createServiceHandler } from '../../functions/worker.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { createEndpointApi } from '../../platform/kube/endpoint-api.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { startConsumer } from '../../platform/redis/queue/consumer.ts';
import { openQueue, type WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { createStuckKeys } from '../../platform/redis/stuck.ts';
import { createIdentitySource } from '../../platform/redis/view/identity-source.ts';
import { createServiceView } from '../../platform/redis/view/service-view.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import { PLAN_OPTIONS } from './plan-options.ts';

export interface WorkerRigOptions {
  readonly client: KubeClient;
  readonly redis: RedisClient;
  readonly redisUrl: string;
  readonly prefix: string;
  /** UID of the cluster, as the view's identity has it. */
  readonly clusterUid: string;
}

export interface InProcessWorker {
  /** What it takes its keys from. */
  readonly queue: WorkQueue;
  stop(): Promise<void>;
}

/** The worker of a process, in this one: real API server, real view, real queue. */
export async function startWorker(options: WorkerRigOptions): Promise<InProcessWorker> {
  const { client, redis, redisUrl, prefix, clusterUid } = options;
  const log = silentLogger;
  const metrics = createMetrics();
  const monotonicMs = (): number => performance.now();
  const identity = await createIdentitySource(redis, prefix, clusterUid, monotonicMs);
  const events = { emit: () => undefined, flush: () => Promise.resolve() };
  const report = createRunReport({ events, log, metrics });
  const reconcile = {
    view: createServiceView({ redis, prefix, identity: identity.current }),
    api: createEndpointApi(client),
    plan: PLAN_OPTIONS,
    report: { ...report, viewMissed: () => identity.refresh() },
    clock: { now: () => new Date(), monotonicMs },
    random: Math.random,
    token: randomUUID,
  };
  const stuck = createStuckKeys(redis, prefix);
  const place = { name: 'service', prefix, log } as const;
  const queue = openQueue({ ...place, redis: redisUrl });
  const handle = createServiceHandler({ reconcile, stuck, log, metrics });
  const consumer = startConsumer({ ...place, redisUrl, concurrency: 2, handle });
  return {
    queue,
    stop: async () => {
      await consumer.drain(5_000);
      await queue.close();
    },
  };
}
