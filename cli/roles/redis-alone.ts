import { describeError, UnreachableError } from '../../core/errors.ts';
import { resolveRedisUrl, type Config } from '../../platform/config.ts';
import type { RedisAddress } from '../../platform/redis/address.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { readNoEviction } from '../../platform/redis/eviction.ts';
import { createLogger } from '../../platform/telemetry/logger.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import { serveRoles, type Role, type Serving } from './serve.ts';

/** What a role stands on that asks Redis and no API server. */
export interface RedisRuntime extends Serving {
  readonly redisUrl: RedisAddress;
  /** Fails at once while Redis is away instead of queueing commands. */
  readonly redis: RedisClient;
}

export interface RedisAloneOptions {
  /** For the log. */
  readonly name: string;
  readonly config: Config;
  readonly signal: AbortSignal;
  readonly start: (runtime: RedisRuntime) => Promise<Role>;
}

/**
 * Runs one role that needs no API server, with health and metrics, until the signal. Without Redis it
 * starts all the same: whoever asks is told so, and it is there at once when Redis is.
 */
export async function runOnRedisAlone(options: RedisAloneOptions): Promise<void> {
  const { name, config, signal } = options;
  const redisUrl = resolveRedisUrl(config);
  const { logLevel: level, logFormat: format, colour } = config;
  const log = await createLogger({ level, format, colour, base: { role: name }, fd: 1 });
  const metrics = createMetrics();
  const redis = connectRedis(redisUrl, 'producer', { log });
  try {
    await checkRedis(redis, { log }).catch((error: unknown) => {
      if (!(error instanceof UnreachableError)) throw error;
      log.warn({ error: describeError(error) }, 'answering without Redis until it is there');
    });
    metrics.shareFrom(async () => ({
      depth: {},
      stuck: 0,
      noEviction: await readNoEviction(redis),
    }));
    const runtime = { config, redisUrl, redis, log, metrics, signal };
    await serveRoles(runtime, async () => [await options.start(runtime)]);
  } finally {
    redis.disconnect();
    log.flush();
  }
}
