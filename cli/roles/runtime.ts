import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ApiObject } from '../../core/api-objects.ts';
import { backoffMs } from '../../core/backoff.ts';
import { ApiError, describeError, UnreachableError } from '../../core/errors.ts';
import type { Config } from '../../platform/config.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { createEventSink, type EventSink } from '../../platform/kube/events.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import type { Check } from '../../platform/telemetry/health.ts';
import { startHttpServer } from '../../platform/telemetry/http-server.ts';
import { createLogger, type OwnedLogger } from '../../platform/telemetry/logger.ts';
import { createMetrics, type Metrics } from '../../platform/telemetry/metrics.ts';

/** What every role of a process stands on. */
export interface Runtime {
  readonly config: Config;
  readonly redisUrl: string;
  /** For commands of any length: never queues them while Redis is away. */
  readonly redis: Redis;
  readonly client: KubeClient;
  /** UID of the kube-system namespace: which cluster this is. */
  readonly clusterUid: string;
  readonly log: OwnedLogger;
  readonly metrics: Metrics;
  readonly events: EventSink;
  /** Unique for this process. */
  readonly id: string;
  readonly signal: AbortSignal;
  /** Called whenever Redis is back after it was away. */
  onRedisBack(listener: () => void): void;
  close(): Promise<void>;
}

const API_RETRY = { baseMs: 200, capMs: 5_000 } as const;

/** Connects to Redis and the API server; waits for either, and says so once. */
export async function openRuntime(
  role: string,
  config: Config,
  redisUrl: string,
  signal: AbortSignal,
): Promise<Runtime> {
  const { logLevel: level, logFormat: format } = config;
  const log = await createLogger({ level, format, colour: config.colour, base: { role }, fd: 1 });
  const listeners: (() => void)[] = [];
  const redis = connectRedis(redisUrl, 'producer', {
    log,
    onReconnect: () => listeners.forEach((listener) => listener()),
  });
  const metrics = createMetrics();
  const access = await loadKubeConfig({
    ...(config.kubeconfig === undefined ? {} : { path: config.kubeconfig }),
    ...(config.context === undefined ? {} : { context: config.context }),
    env: config.kubeEnv,
  });
  const client = createKubeClient(access, {
    connections: Math.max(32, config.concurrency + 8),
    observe: metrics.api,
  });
  try {
    const [clusterUid] = await Promise.all([
      readClusterUid(client, log, signal),
      checkRedis(redis, { log }),
    ]);
    const events = createEventSink({
      client,
      component: config.manager,
      log,
      observe: metrics.onEvent,
    });
    return {
      ...{ config, redisUrl, redis, client, clusterUid, log, metrics, events, signal },
      id: `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`,
      onRedisBack: (listener) => void listeners.push(listener),
      close: async () => {
        await client.close();
        redis.disconnect();
        log.flush();
      },
    };
  } catch (error) {
    await client.close();
    redis.disconnect();
    log.flush();
    throw error;
  }
}

/** The identity of the cluster. An API server that is not there yet is waited for. */
async function readClusterUid(
  client: KubeClient,
  log: OwnedLogger,
  signal: AbortSignal,
): Promise<string> {
  const what = 'get namespace kube-system';
  for (let failures = 1; ; failures++) {
    try {
      const path = '/api/v1/namespaces/kube-system';
      const found = await client.get<ApiObject>(path, { what, signal });
      return found.metadata?.uid ?? 'unknown';
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (failures === 1) {
        const reason = describeError(error);
        log.warn({ server: client.server, reason }, 'waiting for the API server');
      }
      await pause(backoffMs(failures, API_RETRY, Math.random), signal);
    }
  }
}

/** kube-system comes a moment after a new API server does; a missing right does not pass. */
function isPassing(error: unknown): boolean {
  if (error instanceof UnreachableError) return true;
  return error instanceof ApiError && (error.status === 404 || error.status >= 429);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { setTimeout: delay } = await import('node:timers/promises');
  await delay(ms, undefined, { signal });
}

/** A role of a process, running. */
export interface Role {
  readonly liveness: readonly Check[];
  readonly readiness: readonly Check[];
  /** Resolves when the role does its work. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
}

/** Serves health and metrics, runs the roles until the signal, and stops them in order. */
export async function runRoles(runtime: Runtime, roles: readonly Role[]): Promise<void> {
  const { config, log, metrics, signal } = runtime;
  const server = await startHttpServer({
    host: config.httpHost,
    port: config.httpPort,
    liveness: roles.flatMap((role) => role.liveness),
    readiness: roles.flatMap((role) => role.readiness),
    metrics,
    log,
  });
  try {
    void Promise.all(roles.map((role) => role.ready)).then(() => log.info({}, 'ready'));
    await new Promise((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener('abort', resolve, { once: true });
    });
    log.info({}, 'stopping');
  } finally {
    for (const role of roles) await role.stop();
    await server.close();
  }
}
