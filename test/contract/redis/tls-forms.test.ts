import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { UnreachableError } from '../../../core/errors.ts';
import type { RedisAccess } from '../../../platform/redis/address.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { startRedisCluster, type RedisCluster } from '../../redis/servers/cluster.ts';
import { startSentinelSetup, type SentinelSetup } from '../../redis/servers/sentinel.ts';
import type { ServerTls } from '../../redis/servers/server.ts';
import { eventually } from '../../support/eventually.ts';
import { FIRST, SECOND } from '../../unit/kube/tls-fixtures.ts';
import { failure, notedLog, type NotedLog } from './noted.ts';

/*
 * TLS where more than one server is: all of them speak nothing else, with each other too, and have one
 * certificate for a name that none of them is reached by.
 */

const SECRET = 'hunter2-secret';
const SERVER_NAME = 'tether.test';

let dir: string;
let tls: ServerTls;
let otherCa: string;
let log: NotedLog;
const open: RedisClient[] = [];

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'tether-tls-forms-'));
  const file = (name: string, text: string): string => {
    const path = join(dir, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const certFile = file('cert.pem', FIRST.cert);
  tls = { certFile, keyFile: file('key.pem', FIRST.key), serverName: SERVER_NAME };
  otherCa = file('other.pem', SECOND.cert);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));
beforeEach(() => {
  log = notedLog();
});
afterEach(() => {
  for (const redis of open.splice(0)) redis.disconnect();
  expect(log.lines.filter((line) => line.includes(SECRET))).toEqual([]);
});

function connect(url: string, caFile = tls.certFile): RedisClient {
  const access: RedisAccess['tls'] = { caFile, serverName: SERVER_NAME };
  const redis = connectRedis({ url, tls: access }, 'producer', { log });
  open.push(redis);
  return redis;
}

async function expectHint(url: string): Promise<void> {
  const redis = connect(url, otherCa);
  const error = await failure(() => checkRedis(redis, { log, timeoutMs: 1_000 }));
  expect(error).toBeInstanceOf(UnreachableError);
  expect(error.message).toContain('does it speak TLS with a certificate that --redis-ca-file');
  expect(error.message).not.toContain('\n');
}

describe('TLS with Sentinels', () => {
  let setup: SentinelSetup;
  beforeAll(async () => {
    setup = await startSentinelSetup({ dir, password: SECRET, tls });
  });
  afterAll(() => setup.stop());

  test('says what to look at, in one sentence, when their CA is another', () =>
    expectHint(setup.url));

  test('is spoken with them, with the primary, and with the one that takes its place', async () => {
    expect(setup.url).toMatch(/^rediss\+sentinel:/);
    const redis = connect(setup.url);
    await checkRedis(redis, { log });
    await redis.set('kept', 'kept');
    await redis.wait(1, 5_000);
    const old = await setup.primary();
    await old.kill();
    await setup.untilReplaced(old);
    await eventually(async () => expect(await redis.get('kept')).toBe('kept'));
    await redis.set('after', '1');
  });
});

describe('TLS with a Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster({ dir, password: SECRET, replicas: false, tls });
  });
  afterAll(() => cluster.stop());

  test('says what to look at, in one sentence, when its CA is another', () =>
    expectHint(cluster.url));

  test('is spoken with each of its masters', async () => {
    expect(cluster.url).toMatch(/^rediss\+cluster:/);
    const redis = connect(cluster.url);
    await checkRedis(redis, { log });
    const masters = new Set();
    for (const key of Array.from({ length: 12 }, (_, at) => `key-${at}`)) {
      await redis.set(key, key);
      expect(await redis.get(key)).toBe(key);
      masters.add(await cluster.masterOf(key));
    }
    expect(masters.size).toBe(cluster.servers.length);
  });
});
