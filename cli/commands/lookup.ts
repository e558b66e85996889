import { InvalidInputError, UnreachableError, describeError } from '../../core/errors.ts';
import { resolveRedisUrl, type Config } from '../../platform/config.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { createLogger } from '../../platform/telemetry/logger.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import type { CommandInput, Io } from '../command.ts';
import { startLookupRole } from '../roles/lookup-role.ts';
import { serveRoles } from '../roles/serve.ts';

/**
 * `lookup` answers look-ups until it is stopped; `lookup CLUSTER NS/SERVICE`, `lookup NS/SERVICE` (by
 * its local name) and `lookup CLUSTER` ask for one, of the Redis itself.
 */
export async function run(input: CommandInput, io: Io): Promise<number> {
  if (input.args['cluster']) {
    const { askOnce } = await import('../lookup/ask.ts');
    return askOnce(input, io);
  }
  const [flag] = ['watch', 'output', 'port'].filter((name) => input.flags[name] !== undefined);
  if (flag !== undefined) {
    throw new InvalidInputError(flag, `--${flag}: of which Service? See tether lookup --help`);
  }
  await serve(input.config, io.signal);
  return 0;
}

/** That role alone: with a Redis, and without an API server. */
async function serve(config: Config, signal: AbortSignal): Promise<void> {
  const redisUrl = resolveRedisUrl(config);
  const { logLevel: level, logFormat: format, colour } = config;
  const log = await createLogger({ level, format, colour, base: { role: 'lookup' }, fd: 1 });
  const metrics = createMetrics();
  const redis = connectRedis(redisUrl, 'producer', { log });
  try {
    await checkRedis(redis, { log }).catch((error: unknown) => {
      if (!(error instanceof UnreachableError)) throw error;
      // Whoever asks is told so; this process is there at once when Redis is.
      log.warn({ error: describeError(error) }, 'answering without Redis until it is there');
    });
    metrics.shareFrom(async () => {
      await redis.ping();
      return { depth: 0, stuck: 0 };
    });
    const runtime = { config, redisUrl, redis, log, metrics, signal };
    await serveRoles(runtime, async () => [await startLookupRole(runtime)]);
  } finally {
    redis.disconnect();
    log.flush();
  }
}
