import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { wakeRedis } from '../../../cli/roles/wake-redis.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { connectRedis } from '../../../platform/redis/connect.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { eventually } from '../../support/eventually.ts';
import { startTcpProxy, type TcpProxy } from '../../support/proxy.ts';

const log = silentLogger;

let server: PrivateRedis;
let proxy: TcpProxy;
let redis: RedisClient;
const wake = (): Promise<void> => wakeRedis({ redis, log });
const connection = async (): Promise<unknown> => redis.client('ID');

beforeEach(async () => {
  server = await startPrivateRedis();
  proxy = await startTcpProxy(server.port);
  const url = `redis://:${server.password}@127.0.0.1:${proxy.port}`;
  redis = connectRedis(url, 'producer', { log });
  await wake();
});
afterEach(async () => {
  redis.disconnect();
  await proxy.close();
  await server.stop();
});

test('a connection that answers is kept', async () => {
  const before = await connection();
  await wake();
  expect(await connection()).toBe(before);
});

test('a connection by which the server says that it cannot is kept as well', async () => {
  await redis.call('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '+@all', '-ping');
  const ofApp = connectRedis(`redis://app:pw@127.0.0.1:${proxy.port}`, 'producer', { log });
  try {
    await wakeRedis({ redis: ofApp, log });
    const before: unknown = await ofApp.client('ID');
    await expect(ofApp.ping()).rejects.toThrow('NOPERM');
    await wakeRedis({ redis: ofApp, log });
    expect(await ofApp.client('ID')).toBe(before);
  } finally {
    ofApp.disconnect();
  }
});

test('a connection that was cut is waited for until it is back', async () => {
  const before = await connection();
  proxy.cut();
  await eventually(() => expect(redis.status).not.toBe('ready'));
  proxy.restore();
  await wake();
  expect(await connection()).not.toBe(before);
});

test('a connection that only looks as if it stood is made anew', async () => {
  const before = await connection();
  proxy.freeze();
  const waking = wake();
  await eventually(() => expect(redis.status).not.toBe('ready'));
  proxy.restore();
  await waking;
  expect(await connection()).not.toBe(before);
});
