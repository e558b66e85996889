import { createServer, type AddressInfo, type Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import { createServiceHandler } from '../../functions/worker.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { staticCredentials } from '../../platform/kube/credentials.ts';
import { createEndpointApi, type EndpointApi } from '../../platform/kube/endpoint-api.ts';
import { connectRedis, checkRedis } from '../../platform/redis/connect.ts';
import { startConsumer } from '../../platform/redis/queue/consumer.ts';
import { openQueue } from '../../platform/redis/queue/work-queue.ts';
import { createStuckKeys } from '../../platform/redis/stuck.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import { eventually } from '../support/eventually.ts';
import { createService, createWorkload, endpointsOf } from '../support/objects.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';
import { fromRun } from '../support/run.ts';

const rig = reconcileRig();

const DEADLINE_MS = 1_000;

/** An API server that takes connections and requests, and never says a word. */
let hole: { client: KubeClient; asked: () => number; close(): Promise<void> };
beforeEach(async () => {
  const sockets = new Set<Socket>();
  let asked = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', () => (asked += 1)).on('error', () => undefined);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const access = {
    server: `http://127.0.0.1:${port}`,
    insecure: false,
    credentials: staticCredentials({}),
  };
  const client = createKubeClient(access, { timeoutMs: DEADLINE_MS });
  hole = {
    client,
    asked: () => asked,
    close: async () => {
      await client.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
});
afterEach(() => hole.close());

/** A worker in this process, with the rig's view and the API server that `api` is. */
async function startWorker(api: EndpointApi, concurrency: number) {
  const redisUrl = fromRun('redisUrl');
  const redis = connectRedis(redisUrl, 'producer', { log: silentLogger });
  await checkRedis(redis, { log: silentLogger });
  const queue = openQueue({ name: 'service', prefix: rig.prefix, log: silentLogger, redis });
  const handle = createServiceHandler({
    reconcile: { ...rig.deps, api, random: Math.random, token: randomUUID },
    stuck: createStuckKeys(redis, rig.prefix),
    log: silentLogger,
    metrics: createMetrics(),
  });
  const consumer = startConsumer({
    redisUrl,
    prefix: rig.prefix,
    name: 'service',
    concurrency,
    log: silentLogger,
    handle,
  });
  const stop = async (): Promise<void> => {
    await consumer.drain(0);
    await queue.close();
    redis.disconnect();
  };
  return { queue, stop };
}

describe('an API call that never answers (report 97)', () => {
  test('holds its worker no longer than the deadline; others go on meanwhile, and it is tried again', async () => {
    const services = ['a', 'b', 'c', 'd', 'e'];
    for (const name of services) {
      await createService(rig.ns, name, { spec: { selector: { app: 'web' } } });
    }
    await createWorkload(rig.ns, 'vm', 'web');
    await rig.see();
    const swallowed = createEndpointApi(hole.client);
    let holed = true;
    const api: EndpointApi = {
      ...rig.api,
      createSlice: (namespace, name, body, signal) =>
        (holed && name.startsWith('a-') ? swallowed : rig.api).createSlice(
          ...([namespace, name, body, signal] as const),
        ),
    };
    const { queue, stop } = await startWorker(api, 2);
    try {
      const add = (name: string) => ({
        key: {
          namespace: rig.ns,
          name,
        },
        reason: 'test',
        at: Date.now(),
      });
      await queue.addEvents([add('a')]);
      await eventually(() => expect(hole.asked()).toBe(1));
      const from = performance.now();
      await queue.addEvents(services.slice(1).map(add));
      for (const name of services.slice(1)) {
        await eventually(async () => expect(await endpointsOf(rig.ns, name)).toHaveLength(1));
      }
      // All of them while the first request still waits, or at most one deadline later.
      expect(performance.now() - from).toBeLessThan(DEADLINE_MS * 3);
      // Given up, and asked again: the worker is free, the key is not forgotten.
      await eventually(() => expect(hole.asked()).toBeGreaterThanOrEqual(2));
      expect(await endpointsOf(rig.ns, 'a')).toEqual([]);
      holed = false;
      await eventually(async () => expect(await endpointsOf(rig.ns, 'a')).toHaveLength(1));
    } finally {
      await stop();
    }
  });

  test('with a single lane the others wait for one deadline, not for ever', async () => {
    await createService(rig.ns, 'a', { spec: { selector: { app: 'web' } } });
    await createService(rig.ns, 'b', { spec: { selector: { app: 'web' } } });
    await createWorkload(rig.ns, 'vm', 'web');
    await rig.see();
    const swallowed = createEndpointApi(hole.client);
    const api: EndpointApi = {
      ...rig.api,
      createSlice: (...args) =>
        (args[1].startsWith('a-') ? swallowed : rig.api).createSlice(...args),
    };
    const { queue, stop } = await startWorker(api, 1);
    try {
      for (const name of ['a', 'b']) {
        const key = { namespace: rig.ns, name };
        await queue.addEvents([{ key, reason: 'test', at: Date.now() }]);
      }
      await eventually(async () => expect(await endpointsOf(rig.ns, 'b')).toHaveLength(1));
    } finally {
      await stop();
    }
  });
});
