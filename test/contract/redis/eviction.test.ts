import { afterEach, expect, it } from '@jest/globals';
import { silentLogger } from '../../../core/logger.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { readNoEviction } from '../../../platform/redis/eviction.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';

const log = silentLogger;

let server: PrivateRedis;
let redis: RedisClient;
afterEach(async () => {
  redis.disconnect();
  await server.stop();
});

async function connect(): Promise<void> {
  server = await startPrivateRedis();
  redis = connectRedis(server.url, 'producer', { log });
  await checkRedis(redis, { log });
}

it('a policy that somebody changes while a process runs is seen', async () => {
  await connect();
  expect(await readNoEviction(redis)).toBe(true);
  await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  expect(await readNoEviction(redis)).toBe(false);
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  expect(await readNoEviction(redis)).toBe(true);
});

it('a Redis that may not be asked leaves it open whether it does, and fails nothing else', async () => {
  await connect();
  await redis.acl('SETUSER', 'default', '-info');
  expect(await readNoEviction(redis)).toBeNull();
});
