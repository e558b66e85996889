import { silentLogger } from '../../core/logger.ts';
import { primariesOf, type RedisClient } from '../../platform/redis/client.ts';
import { connectRedis } from '../../platform/redis/connect.ts';
import { fromRun } from './run.ts';

/** A test's own connection to the Redis of the run, be it a server or a Cluster, or to another one. */
export function openRedis(url: string = fromRun('redisUrl')): RedisClient {
  return connectRedis(url, 'blocking', { log: silentLogger });
}

/** The names of keys that match a pattern, on whichever master they are. */
export async function keysOf(redis: RedisClient, pattern: string): Promise<string[]> {
  // Until it is connected, a Cluster takes every node that it was told of for a master.
  await redis.ping();
  const names = await Promise.all(primariesOf(redis).map((one) => one.keys(pattern)));
  return names.flat();
}

/** Deletes keys, which may be in different slots. */
export async function deleteKeys(redis: RedisClient, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => redis.del(key)));
}

/** Deletes all keys of an install. */
export async function deleteInstall(redis: RedisClient, prefix: string): Promise<void> {
  await deleteKeys(redis, await keysOf(redis, `{${prefix}*`));
}
