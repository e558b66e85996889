import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../../core/errors.ts';
import { silentLogger } from '../../../core/logger.ts';
import { isUsable, type RedisClient } from '../../../platform/redis/client.ts';
import { openChangeFeed } from '../../../platform/redis/clusters/change-feed.ts';
import { createClusterRegistry } from '../../../platform/redis/clusters/registry.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { installKeys } from '../../../platform/redis/install-keys.ts';
import { createStuckKeys, STUCK_AFTER } from '../../../platform/redis/stuck.ts';
import { failuresKey } from '../../../platform/redis/view/keys.ts';
import { createServiceView } from '../../../platform/redis/view/service-view.ts';
import { createViewWriter } from '../../../platform/redis/view/view-writer.ts';
import { startRedisCluster, type RedisCluster } from '../../redis/servers/cluster.ts';
import { acceptedDecision } from '../../support/accepted-decision.ts';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness } from '../../support/queue-harness.ts';
import { service } from '../view/fixture.ts';
import { failure, notedLog, type NotedLog } from './noted.ts';

const SECRET = 'hunter2-secret';
const PREFIX = 'spread';

let dir: string;
let cluster: RedisCluster;
let log: NotedLog;
const open: RedisClient[] = [];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-cluster-'));
  cluster = await startRedisCluster({ dir, password: SECRET });
});
afterAll(async () => {
  await cluster.stop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(() => {
  log = notedLog();
});
afterEach(() => {
  for (const redis of open.splice(0)) redis.disconnect();
  expect(log.lines.filter((line) => line.includes(SECRET))).toEqual([]);
});

function connect(url = cluster.url, onReconnect?: () => void): RedisClient {
  const redis = connectRedis(url, 'producer', { log, ...(onReconnect && { onReconnect }) });
  open.push(redis);
  return redis;
}

/** A namespace whose view is on a master other than the queue's. */
async function namespaceBeside(key: string): Promise<string> {
  const queue = await cluster.masterOf(key);
  for (let at = 0; ; at += 1) {
    const master = await cluster.masterOf(`{${PREFIX}:ns-${at}}`);
    if (master !== queue) return `ns-${at}`;
  }
}

describe('a Redis Cluster', () => {
  test('carries the queue, with a worker, and who waits for an outcome', async () => {
    const harness = await openHarness(cluster.url);
    try {
      harness.startWorker();
      await harness.queue.addEvents(['a/x', 'b/y', 'c/z'].map((key) => event(key)));
      await harness.untilIdle();
      expect(await harness.seen()).toHaveLength(6);
      const id = await harness.queue.addOnDemand({ namespace: 'a', name: 'x' }, 'test');
      const report = await harness.queue.waitFor(id, { timeoutMs: 20_000 });
      expect(report).toEqual({ kind: 'completed', result: { planned: true } });
    } finally {
      await harness.close();
    }
  });

  test('carries the views, each namespace on one of its masters', async () => {
    const redis = connect();
    await checkRedis(redis, { log, prefix: PREFIX });
    const identity = 'uid.1';
    const writer = createViewWriter(redis, { prefix: PREFIX, identity }, () => 'born');
    const view = createServiceView({ redis, prefix: PREFIX, identity: () => identity });
    const masters = new Set();
    for (const namespace of Array.from({ length: 12 }, (_, at) => `ns-${at}`)) {
      const object = service('web', 1);
      const { dirty, score } = await writer.apply(namespace, [
        { op: 'upsert', kind: 'service', object },
      ]);
      expect(dirty).toEqual([{ service: 'web', why: 'service' }]);
      expect((await writer.overdue(namespace, 0)).dirty).toHaveLength(1);
      await writer.settle(namespace, score, ['web']);
      const birth = await writer.open(namespace);
      await writer.heartbeat(namespace, birth, 60_000, ['service', 'workload', 'slice']);
      const found = await view.acquire({ namespace, name: 'web' }, 'token', 5_000, true);
      expect(found).toMatchObject({ held: true, world: { service: { name: 'web' } } });
      masters.add(await cluster.masterOf(`{${PREFIX}:${namespace}}`));
    }
    expect(masters.size).toBe(3);
  });

  test('lists stuck keys whose counts are on other masters than the list', async () => {
    const redis = connect();
    await checkRedis(redis, { log });
    const stuck = createStuckKeys(redis, PREFIX);
    const beside = await namespaceBeside(`{${PREFIX}}:stuck`);
    for (const namespace of [beside, 'ns-a', 'ns-b', 'ns-c']) {
      await redis.hset(failuresKey(PREFIX, namespace), 'web', STUCK_AFTER);
      await stuck.add(`${namespace}/web`);
      await stuck.add(`${namespace}/well`);
    }
    const left = ['ns-a/web', 'ns-b/web', 'ns-c/web'];
    expect((await stuck.list()).toSorted()).toEqual([`${beside}/web`, ...left].toSorted());
    await installKeys(redis, PREFIX, beside).remove();
    expect((await stuck.list()).toSorted()).toEqual(left);
  });

  test('passes on what is told, whichever node is listened at, and goes on at another', async () => {
    const redis = connect();
    await checkRedis(redis, { log });
    let heard = 0;
    let missed = 0;
    const listener = {
      changed: () => undefined,
      registryChanged: () => void heard++,
      missed: () => void missed++,
    };
    const feed = openChangeFeed(cluster.url, PREFIX, listener, silentLogger);
    try {
      const registry = createClusterRegistry(redis, PREFIX);
      const tell = (): Promise<void> =>
        registry.decide(acceptedDecision('east', { generation: 1, hash: 'h' }));
      await eventually(() => expect(missed).toBe(1));
      await tell();
      await eventually(() => expect(heard).toBe(1));
      for (const { admin } of cluster.servers) await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await eventually(() => expect(missed).toBe(2));
      await tell();
      await eventually(() => expect(heard).toBe(2));
    } finally {
      feed.close();
    }
  });

  test('is refused when one of its masters may evict keys, and that one is named', async () => {
    const [, other] = cluster.servers;
    await other?.admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      const error = await failure(() => checkRedis(connect(), { log }));
      expect(error).toBeInstanceOf(InvalidInputError);
      expect(error.message).toContain(`Redis at 127.0.0.1:${other?.port} may throw keys away`);
    } finally {
      await other?.admin.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });

  test('is refused with a wrong password, and by the URL of a single Redis', async () => {
    const [{ port } = { port: 0 }] = cluster.servers;
    const wrong = cluster.url.replace(SECRET, `wrong-${SECRET}`);
    const refused = await failure(() => checkRedis(connect(wrong), { log }));
    expect(refused.message).toContain('refuses the user or the password');
    const single = connect(`redis://:${SECRET}@127.0.0.1:${port}`);
    const other = await failure(() => checkRedis(single, { log }));
    expect(other.message).toMatch(/is a node of a Redis Cluster: give redis\+cluster:/);
  });

  test('tells that a master was replaced; what it had goes on where its replica is', async () => {
    const key = `{${PREFIX}}:service:wait`;
    const namespace = await namespaceBeside(key);
    let replaced = 0;
    const redis = connect(cluster.url, () => replaced++);
    await checkRedis(redis, { log });
    const kept = `{${PREFIX}:${namespace}}:kept`;
    await redis.set(kept, 'kept');
    const old = await cluster.masterOf(kept);
    await redis.wait(1, 5_000);
    await old.kill();
    await eventually(() => expect(isUsable(redis, kept)).toBe(false));
    await eventually(async () => expect(await redis.get(kept)).toBe('kept'));
    await eventually(() => expect(replaced).toBeGreaterThan(0));
    expect(await cluster.masterOf(kept)).not.toBe(old);
    expect(isUsable(redis, kept)).toBe(true);
    await old.restart();
    await cluster.untilOk();
  });
});
