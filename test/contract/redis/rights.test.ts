import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { InvalidInputError } from '../../../core/errors.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { aclRules } from './acl-line.ts';
import { failure } from './noted.ts';

const PREFIX = 'least';
const SECRET = 'hunter2';
const log = silentLogger;

let server: PrivateRedis;
let admin: Redis;
let redis: RedisClient | undefined;
beforeAll(async () => {
  server = await startPrivateRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});
beforeEach(() => allow());
afterEach(() => redis?.disconnect());

/** The user `app` with the rights of the docs, and these rules after them. */
async function allow(...more: string[]): Promise<void> {
  await admin.call('ACL', 'DELUSER', 'app');
  await admin.call('ACL', 'SETUSER', 'app', ...aclRules(PREFIX, SECRET), ...more);
}

async function check(): Promise<void> {
  redis = connectRedis(`redis://app:${SECRET}@127.0.0.1:${server.port}`, 'producer', { log });
  await checkRedis(redis, { log, prefix: PREFIX });
}

describe('a user of Redis', () => {
  test('with the rights of the docs is let in, and the look at them leaves no key', async () => {
    await check();
    expect(await admin.keys('*')).toEqual([]);
  });

  test.each([
    ['a command of the scripts', '-zadd', 'zadd'],
    ['a command that waits', '-bzpopmin', 'bzpopmin'],
    ['scripts', '-evalsha', 'evalsha'],
    ['subscriptions', '-subscribe', 'subscribe'],
    ['transactions', '-multi', 'multi'],
  ])('without the right to %s is told which it lacks', async (_, rule, named) => {
    await allow(rule);
    const error = await failure(check);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toMatch(new RegExp(`does not let its user app use ${named}: see`));
    expect(error.message).not.toContain(SECRET);
  });

  test('with the rights of the docs is let in also while Redis takes no writes', async () => {
    await admin.config('SET', 'min-replicas-to-write', '1');
    try {
      await expect(admin.set('a', '1')).rejects.toThrow('NOREPLICAS');
      await check();
    } finally {
      await admin.config('SET', 'min-replicas-to-write', '0');
    }
  });

  test('without the keys of the namespaces is told so', async () => {
    await allow('resetkeys', `~{${PREFIX}}:*`);
    expect((await failure(check)).message).toContain(`use the keys {${PREFIX}:*: see`);
  });

  test('without the keys of the queue is told so', async () => {
    await allow('resetkeys', `~{${PREFIX}:*`);
    expect((await failure(check)).message).toContain(`use the keys {${PREFIX}}:*: see`);
  });

  test('without the channels is told so', async () => {
    await allow('resetchannels');
    expect((await failure(check)).message).toContain(`use the channels {${PREFIX}}:*: see`);
  });

  test('without several of them is told of all', async () => {
    await allow('-zadd', '-xadd', '-bzpopmin');
    expect((await failure(check)).message).toMatch(/use zadd, xadd, bzpopmin: see/);
  });
});
