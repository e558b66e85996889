import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { redisUrlFile, resolveRedisUrl, type Config } from '../../platform/config.ts';
import type { RedisAddress } from '../../platform/redis/address.ts';

/** A Redis for `tether up`: the configured one, or a private one that ends with this process. */
export interface RedisForUp {
  readonly url: RedisAddress;
  stop(): Promise<void>;
}

/**
 * Where no Redis is configured, starts one and records its URL for the other commands of this folder
 * (mode 0600: it holds the password).
 */
export async function redisForUp(config: Config): Promise<RedisForUp> {
  if (config.redisUrl !== undefined) {
    return { url: resolveRedisUrl(config), stop: () => Promise.resolve() };
  }
  const { startPrivateRedis } = await import('../../platform/redis/private-server.ts');
  const server = await startPrivateRedis();
  const file = redisUrlFile();
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, `${server.url}\n`, { mode: 0o600 });
  await chmod(file, 0o600);
  return {
    // The record is for everybody; this process can have it cheaper.
    url: server.socketUrl,
    stop: async () => {
      await rm(file, { force: true });
      await server.stop();
    },
  };
}
