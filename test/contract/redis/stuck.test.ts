import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { installKeys } from '../../../platform/redis/install-keys.ts';
import { createStuckKeys, STUCK_AFTER, type StuckKeys } from '../../../platform/redis/stuck.ts';
import { failuresKey, stuckKey } from '../../../platform/redis/view/keys.ts';
import { deleteInstall, openRedis } from '../../support/redis.ts';

let redis: RedisClient;
let prefix: string;
let stuck: StuckKeys;
beforeEach(() => {
  redis = openRedis();
  prefix = `stuck-${randomUUID()}`;
  stuck = createStuckKeys(redis, prefix);
});
afterEach(async () => {
  await deleteInstall(redis, prefix);
  redis.disconnect();
});

async function failed(namespace: string, name: string, times: number): Promise<void> {
  await redis.hset(failuresKey(prefix, namespace), name, times);
}

/** What is in Redis, whether it is right or not. */
async function members(): Promise<string[]> {
  return (await redis.smembers(stuckKey(prefix))).toSorted();
}

describe('the list of stuck keys', () => {
  it('names those that have failed so often, of all namespaces', async () => {
    for (const key of ['shop/web', 'shop/db', 'lab/web']) await stuck.add(key);
    await failed('shop', 'web', STUCK_AFTER);
    await failed('shop', 'db', STUCK_AFTER + 30);
    await failed('lab', 'web', STUCK_AFTER);
    expect((await stuck.list()).toSorted()).toEqual(['lab/web', 'shop/db', 'shop/web']);
    expect(await members()).toEqual(['lab/web', 'shop/db', 'shop/web']);
  });

  it('drops a key that its worker could not take out before it died', async () => {
    for (const key of ['shop/web', 'shop/db', 'shop/gone']) await stuck.add(key);
    await failed('shop', 'web', STUCK_AFTER);
    await failed('shop', 'db', STUCK_AFTER - 1);
    expect(await stuck.list()).toEqual(['shop/web']);
    expect(await members()).toEqual(['shop/web']);
  });

  it('is empty where no key is stuck', async () => {
    expect(await stuck.list()).toEqual([]);
  });

  it('loses the keys of a namespace that is removed, and no others', async () => {
    for (const key of ['shop/web', 'shop/db', 'shop-2/web']) await stuck.add(key);
    await failed('shop', 'web', STUCK_AFTER);
    await failed('shop-2', 'web', STUCK_AFTER);
    await installKeys(redis, prefix, 'shop').remove();
    expect(await members()).toEqual(['shop-2/web']);
    expect(await stuck.list()).toEqual(['shop-2/web']);
  });
});
