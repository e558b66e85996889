import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { eventually } from '../../support/eventually.ts';
import {
  openLookupRig,
  type LinkedCluster,
  type Looker,
  type LookupRig,
} from '../../support/lookup-rig.ts';
import { aRemoteService, aRemoteSlice } from '../../support/remote-changes.ts';

const WEB = '/v1/clusters/east/services/shop/web/endpoints';
const API = '/v1/clusters/east/services/shop/api/endpoints';

let redis: PrivateRedis;
let rig: LookupRig;
let east: LinkedCluster;
let looker: Looker;
beforeEach(async () => {
  redis = await startPrivateRedis();
  rig = openLookupRig(redis.url);
  east = await rig.link('east');
  await fill();
  looker = await rig.start();
});
afterEach(async () => {
  // What the rig cleans away needs a Redis.
  if (!(await answers())) await revive();
  await rig.close();
  await redis.stop();
});

const fill = (): Promise<void> =>
  east.put(
    aRemoteService('shop/web'),
    aRemoteSlice('shop/web', ['10.0.0.1']),
    aRemoteService('shop/api'),
  );

async function answers(): Promise<boolean> {
  return rig.redis.status === 'ready';
}

/** The same server under the same address, without what it held. */
async function revive(): Promise<void> {
  redis = await startPrivateRedis({ port: redis.port, password: redis.password });
  await eventually(async () => expect(await answers()).toBe(true));
}

const becomes = (path: string, expected: object, status = 200): Promise<void> =>
  eventually(async () => {
    const got = await looker.get(path);
    expect([got.status, got.body]).toEqual([status, expect.objectContaining(expected)]);
  });

test('while Redis is away, what is known is answered as outdated, and the rest is not', async () => {
  await becomes(WEB, { stale: false });
  const stream = await looker.watch(WEB);
  await stream.until(({ event }) => event === 'full');
  await redis.kill();
  const gone = {
    stale: true,
    state: 'Stale',
    reason: expect.stringContaining('Redis does not answer'),
  };
  await becomes(WEB, { ...gone, endpoints: [expect.objectContaining({ address: '10.0.0.1' })] });
  await becomes(API, { code: 'Unavailable' }, 503);
  await becomes('/v1/clusters', { stale: true });
  await becomes('/v1/clusters/east', { state: 'Stale' });
  expect((await looker.get(`${WEB}?max-age=0`)).status).toBe(503);
  await stream.until(({ data }) => data['state'] === 'Stale');
  expect(stream.events.map(({ event }) => event)).toEqual(['full', 'state']);
});

test('a Redis that lost everything makes no cluster gone and no set empty (report 73)', async () => {
  await becomes(WEB, { stale: false });
  const stream = await looker.watch(WEB);
  await stream.until(({ event }) => event === 'full');
  await redis.kill();
  await revive();
  await becomes(WEB, { stale: true, reason: expect.stringContaining('lost what it held') });
  // The worker looks at the Secret again, and the watcher fills the view.
  const writer = await east.rotate();
  await writer.apply([
    aRemoteService('shop/web'),
    aRemoteSlice('shop/web', ['10.0.0.1', '10.0.0.2']),
  ]);
  await writer.promote();
  await east.tell({ serving: writer.generation });
  await becomes(WEB, { stale: false, state: 'Ready' });
  await stream.until(
    ({ event, data }) => event === 'change' && JSON.stringify(data).includes('10.0.0.2'),
  );
  expect(stream.events.filter(({ event }) => event === 'gone')).toEqual([]);
  for (const { data } of stream.events) expect(data['remove'] ?? []).toEqual([]);
});

test('a process that starts without Redis says that it knows nothing, until it does', async () => {
  await redis.kill();
  const late = await rig.start();
  for (const path of [
    WEB,
    '/v1/clusters',
    '/v1/clusters/east',
    '/v1/services/shop/web/endpoints',
  ]) {
    const got = await late.get(path);
    expect([got.status, got.body['code']]).toEqual([503, 'Unavailable']);
  }
  await revive();
  const writer = await east.rotate();
  await writer.apply([aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.0.0.5'])]);
  await writer.promote();
  await east.tell({ serving: writer.generation });
  await eventually(async () => expect((await late.get(WEB)).status).toBe(200));
});

test('what changed while the connection was cut is seen when it is back', async () => {
  await becomes(WEB, { stale: false });
  const stream = await looker.watch(WEB);
  await stream.until(({ event }) => event === 'full');
  // Subscriptions are cut and come back; what is published in between reaches nobody.
  await rig.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await east.put(aRemoteSlice('shop/web', ['10.0.0.7']));
  await stream.until(
    ({ event, data }) => event === 'change' && JSON.stringify(data).includes('10.0.0.7'),
  );
  await becomes(WEB, { endpoints: [expect.objectContaining({ address: '10.0.0.7' })] });
});

test('a Redis that hangs delays an answer, and does not keep it', async () => {
  await becomes(WEB, { stale: false });
  process.kill(redis.pid, 'SIGSTOP');
  try {
    await becomes(API, { code: 'Unavailable' }, 503);
    await becomes(WEB, { stale: true, state: 'Stale' });
  } finally {
    process.kill(redis.pid, 'SIGCONT');
  }
  await becomes(API, { stale: false });
});
