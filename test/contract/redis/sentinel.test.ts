import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../../core/errors.ts';
import type { RedisAddress } from '../../../platform/redis/address.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import {
  MASTER_NAME,
  startSentinelSetup,
  type SentinelSetup,
} from '../../redis/servers/sentinel.ts';
import { eventually } from '../../support/eventually.ts';
import { failure, notedLog, type NotedLog } from './noted.ts';

const SECRET = 'hunter2-secret';
const SENTINEL_SECRET = 'hunter3-secret';

let dir: string;
let setup: SentinelSetup;
let log: NotedLog;
const open: RedisClient[] = [];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-sentinel-'));
  setup = await startSentinelSetup({ dir, password: SECRET, sentinelPassword: SENTINEL_SECRET });
});
afterAll(async () => {
  await setup.stop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(() => {
  log = notedLog();
});
afterEach(() => {
  for (const redis of open.splice(0)) redis.disconnect();
  const told = log.lines.filter((line) => line.includes(SECRET) || line.includes(SENTINEL_SECRET));
  expect(told).toEqual([]);
});

const SENTINEL = { password: SENTINEL_SECRET };

function connect(address: RedisAddress, onReconnect?: () => void): RedisClient {
  const redis = connectRedis(address, 'producer', { log, ...(onReconnect && { onReconnect }) });
  open.push(redis);
  return redis;
}

async function refusal(address: RedisAddress): Promise<string> {
  const error = await failure(() => checkRedis(connect(address), { log }));
  expect(error).toBeInstanceOf(InvalidInputError);
  expect(error.message).not.toContain('\n');
  return error.message;
}

describe('Redis behind Sentinels', () => {
  test('is refused with what is wrong: the name, a password, or what the URL names', async () => {
    const { url } = setup;
    const name = url.replace(`/${MASTER_NAME}`, '/other');
    expect(await refusal({ url: name, sentinel: SENTINEL })).toMatch(
      /^Redis at other of the Sentinels .* is not known to the Sentinels/,
    );
    const wrong = url.replace(SECRET, 'wrong');
    expect(await refusal({ url: wrong, sentinel: SENTINEL })).toContain('refuses the user');
    expect(await refusal({ url, sentinel: { password: 'wrong' } })).toContain(
      'a Sentinel refuses --redis-sentinel-user or --redis-sentinel-password',
    );
    expect(await refusal(url)).toContain('a Sentinel wants a password');
    const [server] = setup.servers;
    const none = `redis+sentinel://127.0.0.1:${server?.port}/${MASTER_NAME}`;
    expect(await refusal({ url: none, sentinel: { password: SECRET } })).toContain(
      'is no Sentinel',
    );
    const [sentinel] = setup.sentinels;
    const single = `redis://:${SENTINEL_SECRET}@127.0.0.1:${sentinel?.port}`;
    expect(await refusal(single)).toMatch(/is a Sentinel: give redis\+sentinel:/);
  });

  test('goes on at the new primary when the old one is frozen with its connections open', async () => {
    let back = 0;
    const redis = connect({ url: setup.url, sentinel: SENTINEL }, () => back++);
    await checkRedis(redis, { log });
    await redis.set('kept', 'kept');
    await redis.wait(1, 5_000);
    const old = await setup.primary();
    old.freeze();
    await setup.untilReplaced(old);
    await eventually(async () => expect(await redis.get('kept')).toBe('kept'));
    await redis.set('after', '1');
    expect(back).toBeGreaterThan(0);
    old.thaw();
  });
});
