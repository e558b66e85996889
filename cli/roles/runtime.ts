import type { RedisAddress } from '../../platform/redis/address.ts';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { RedisClient } from '../../platform/redis/client.ts';
import { QUEUE_NAMES } from '../../core/job.ts';
import type { Config } from '../../platform/config.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import type { ClientObserver } from '../../platform/kube/observe.ts';
import { createEventSink, type EventSink } from '../../platform/kube/events.ts';
import { loadKubeConfig, type KubeAccess } from '../../platform/kube/kubeconfig.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import {
  createClusterRegistry,
  type ClusterRegistry,
} from '../../platform/redis/clusters/registry.ts';
import { countJobs, runnable, type QueueCounts } from '../../platform/redis/queue/inspect.ts';
import { readNoEviction } from '../../platform/redis/eviction.ts';
import { openQueue, type WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { createStuckKeys, type StuckKeys } from '../../platform/redis/stuck.ts';
import { createLogger, type OwnedLogger } from '../../platform/telemetry/logger.ts';
import { traceRequests } from '../../platform/telemetry/tracing/traced-steps.ts';
import type { Tracer } from '../../platform/telemetry/tracing/tracer.ts';
import { createMetrics, type Metrics, type SharedState } from '../../platform/telemetry/metrics.ts';
import { kubeOptions } from './clients.ts';
import { readClusterUid } from './cluster-uid.ts';
import { serveRoles, type Role } from './serve.ts';
import { openTracer } from './tracer.ts';
import { startWritesRole } from './writes-role.ts';

export type { Role } from './serve.ts';

/** What every role of a process stands on. */
export interface Runtime {
  readonly config: Config;
  readonly redisUrl: RedisAddress;
  /** Fails at once while Redis is away instead of queueing commands. */
  readonly redis: RedisClient;
  /** The queue of Service keys, for adding and counting. */
  readonly queue: WorkQueue;
  readonly stuck: StuckKeys;
  readonly client: KubeClient;
  /** What `client` goes by. */
  readonly access: KubeAccess;
  /** UID of the kube-system namespace: which cluster this is. */
  readonly clusterUid: string;
  readonly log: OwnedLogger;
  readonly metrics: Metrics;
  readonly events: EventSink;
  /** Undefined unless traces are on. */
  readonly tracer: Tracer | undefined;
  /** Unique for this process. */
  readonly id: string;
  readonly signal: AbortSignal;
  /** `listener` is called whenever Redis is back after it was away. */
  onRedisBack(listener: () => void): void;
}

export interface RunOptions {
  /** For the log. */
  readonly name: string;
  readonly config: Config;
  readonly redisUrl: RedisAddress;
  readonly signal: AbortSignal;
  readonly start: (runtime: Runtime) => Promise<readonly Role[]>;
}

/** Connects, starts the roles, serves health and metrics until the signal, then stops in order. */
export async function runRoles(options: RunOptions): Promise<void> {
  const { config, redisUrl, signal } = options;
  const { logLevel: level, logFormat: format, colour } = config;
  const log = await createLogger({ level, format, colour, base: { role: options.name }, fd: 1 });
  const metrics = createMetrics();
  const id = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const tracer = await openTracer({ config, role: options.name, id, log });
  const access = await loadKubeConfig(kubeOptions(config));
  const client = createClient(config, access, { ...metrics.api, ...traceRequests(tracer) });
  const back: (() => void)[] = [];
  const onReconnect = (): void => back.forEach((listener) => listener());
  const redis = connectRedis(redisUrl, 'producer', { log, onReconnect });
  try {
    const checked = checkRedis(redis, { log, prefix: config.redisPrefix });
    const [clusterUid] = await Promise.all([readClusterUid(client, log, signal), checked]).finally(
      () => checked.catch(() => undefined),
    );
    const { onEvent: observe } = metrics;
    const events = createEventSink({ client, component: config.manager, log, observe });
    const onRedisBack = (listener: () => void): void => void back.push(listener);
    const queue = openQueue({ name: 'service', prefix: config.redisPrefix, log, redis });
    const stuck = createStuckKeys(redis, config.redisPrefix);
    const clusters = createClusterRegistry(redis, config.redisPrefix);
    const waiting = (): Promise<Waiting> => readWaiting(redis, config.redisPrefix);
    metrics.shareFrom(() => readShared(redis, waiting, stuck, clusters));
    const shared = { config, redisUrl, redis, queue, stuck, client, access, clusterUid };
    const runtime = { ...shared, log, metrics, events, tracer, id, signal, onRedisBack };
    const start = async () => [...(await options.start(runtime)), startWritesRole(runtime)];
    await serveRoles(runtime, start);
    await queue.close();
  } finally {
    await client.close();
    redis.disconnect();
    await tracer?.close();
    log.flush();
  }
}

function createClient(config: Config, access: KubeAccess, observe: ClientObserver): KubeClient {
  const connections = Math.max(32, config.concurrency + 8);
  return createKubeClient(access, { connections, timeoutMs: config.requestTimeoutMs, observe });
}

type Waiting = Pick<SharedState, 'depth' | 'oldestMs'>;

async function readShared(
  redis: RedisClient,
  waiting: () => Promise<Waiting>,
  stuck: StuckKeys,
  registry: ClusterRegistry,
): Promise<SharedState> {
  const reads = [waiting(), stuck.list(), registry.snapshot(), readNoEviction(redis)] as const;
  const [queues, keys, clusters, noEviction] = await Promise.all(reads);
  return { ...queues, stuck: keys.length, clusters, noEviction };
}

async function readWaiting(redis: RedisClient, prefix: string): Promise<Waiting> {
  const reads = QUEUE_NAMES.map((name) => countJobs(redis, prefix, name));
  const counts = await Promise.all(reads);
  const perQueue = (read: (one: QueueCounts) => number) =>
    Object.fromEntries(counts.map((one, at) => [QUEUE_NAMES[at], read(one)]));
  return {
    depth: perQueue(runnable),
    oldestMs: perQueue(({ oldestWaitingMs }) => oldestWaitingMs),
  };
}
