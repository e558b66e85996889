import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/logger.ts';
import { createClusterLock, type ClusterLock } from '../../../platform/redis/clusters/lock.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { eventually } from '../../support/eventually.ts';
import { fromRun } from '../../support/run.ts';

let redis: RedisClient;
let lock: ClusterLock;
const east = { namespace: 'tether', name: 'east' };
const LONG_MS = 60_000;

beforeAll(async () => {
  redis = connectRedis(fromRun('redisUrl'), 'producer', { log: silentLogger });
  await checkRedis(redis, { log: silentLogger });
  lock = createClusterLock(redis, `lock-${randomUUID().slice(0, 8)}`);
});
afterAll(() => redis.disconnect());

test('one holds it; who finds it taken is known to wait for a while', async () => {
  expect(await lock.acquire(east, 'a', LONG_MS)).toEqual({ held: true, world: null });
  expect(await lock.isAwaited(east)).toBe(false);
  expect(await lock.acquire(east, 'b', LONG_MS)).toMatchObject({ held: false });
  expect(await lock.isAwaited(east)).toBe(true);
  expect(await lock.isAwaited({ ...east, name: 'west' })).toBe(false);
  await eventually(async () => expect(await lock.isAwaited(east)).toBe(false));
  expect(await lock.renew(east, 'a', LONG_MS)).toBe(true);
});

test('nobody but its holder prolongs it or gives it back', async () => {
  expect(await lock.renew(east, 'b', LONG_MS)).toBe(false);
  expect(await lock.finish(east, 'b')).toMatchObject({ held: false });
  expect(await lock.acquire(east, 'b', LONG_MS)).toMatchObject({ held: false });
  expect(await lock.finish(east, 'a')).toMatchObject({ held: true });
  expect(await lock.acquire(east, 'b', LONG_MS)).toMatchObject({ held: true });
  await lock.finish(east, 'b');
});

test('it runs out when its holder says nothing more', async () => {
  await lock.acquire(east, 'a', 1);
  await eventually(async () => {
    expect(await lock.acquire(east, 'b', LONG_MS)).toMatchObject({ held: true });
  });
  expect(await lock.renew(east, 'a', LONG_MS)).toBe(false);
  expect(await lock.finish(east, 'a')).toMatchObject({ held: false });
  await lock.finish(east, 'b');
});
