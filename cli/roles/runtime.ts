import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { Config } from '../../platform/config.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { createEventSink, type EventSink } from '../../platform/kube/events.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import {
  createClusterRegistry,
  type ClusterRegistry,
} from '../../platform/redis/clusters/registry.ts';
import { openQueue, type WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { createStuckKeys, type StuckKeys } from '../../platform/redis/stuck.ts';
import { createLogger, type OwnedLogger } from '../../platform/telemetry/logger.ts';
import { createMetrics, type Metrics, type SharedState } from '../../platform/telemetry/metrics.ts';
import { kubeOptions } from './clients.ts';
import { readClusterUid } from './cluster-uid.ts';
import { serveRoles, type Role } from './serve.ts';

export type { Role } from './serve.ts';

/** What every role of a process stands on. */
export interface Runtime {
  readonly config: Config;
  readonly redisUrl: string;
  /** Fails at once while Redis is away instead of queueing commands. */
  readonly redis: Redis;
  /** The queue of Service keys, for adding and counting. */
  readonly queue: WorkQueue;
  readonly stuck: StuckKeys;
  readonly client: KubeClient;
  /** UID of the kube-system namespace: which cluster this is. */
  readonly clusterUid: string;
  readonly log: OwnedLogger;
  readonly metrics: Metrics;
  readonly events: EventSink;
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
  readonly redisUrl: string;
  readonly signal: AbortSignal;
  readonly start: (runtime: Runtime) => Promise<readonly Role[]>;
}

/** Connects, starts the roles, serves health and metrics until the signal, then stops in order. */
export async function runRoles(options: RunOptions): Promise<void> {
  const { config, redisUrl, signal } = options;
  const { logLevel: level, logFormat: format, colour } = config;
  const log = await createLogger({ level, format, colour, base: { role: options.name }, fd: 1 });
  const metrics = createMetrics();
  const access = await loadKubeConfig(kubeOptions(config));
  const connections = Math.max(32, config.concurrency + 8);
  const client = createKubeClient(access, {
    connections,
    timeoutMs: config.requestTimeoutMs,
    observe: metrics.api,
  });
  const back: (() => void)[] = [];
  const onReconnect = (): void => back.forEach((listener) => listener());
  const redis = connectRedis(redisUrl, 'producer', { log, onReconnect });
  try {
    const checked = checkRedis(redis, { log });
    const [clusterUid] = await Promise.all([readClusterUid(client, log, signal), checked]).finally(
      () => checked.catch(() => undefined),
    );
    const { onEvent: observe } = metrics;
    const events = createEventSink({ client, component: config.manager, log, observe });
    const id = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
    const onRedisBack = (listener: () => void): void => void back.push(listener);
    const queue = openQueue({ name: 'service', prefix: config.redisPrefix, log, redis });
    const stuck = createStuckKeys(redis, config.redisPrefix);
    const clusters = createClusterRegistry(redis, config.redisPrefix);
    metrics.shareFrom(() => readShared(queue, stuck, clusters));
    const shared = { config, redisUrl, redis, queue, stuck, client, clusterUid };
    const runtime = { ...shared, log, metrics, events, id, signal, onRedisBack };
    await serveRoles(runtime, () => options.start(runtime));
    await queue.close();
  } finally {
    await client.close();
    redis.disconnect();
    log.flush();
  }
}

async function readShared(
  queue: WorkQueue,
  stuck: StuckKeys,
  registry: ClusterRegistry,
): Promise<SharedState> {
  const reads = [queue.counts(), stuck.list(), registry.snapshot()] as const;
  const [counts, keys, clusters] = await Promise.all(reads);
  return { depth: counts.waiting + counts.prioritized, stuck: keys.length, clusters };
}
