import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { claimTurn } from '../../platform/redis/claims.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, endpointsOf, slicesOf } from '../support/objects.ts';
import { spawnTether, type TetherProcess } from '../support/processes.ts';
import { keysOf, openRedis } from '../support/redis.ts';

/** Rule A6: the safety net, here every two seconds instead of every ten minutes. */
const PREFIX = 'resync';
let tether: TetherProcess;
let redis: RedisClient;
let ns: string;

const resyncs = (): number => tether.stdout().split('everything listed and enqueued').length - 1;
const anotherResync = (): Promise<void> => {
  const before = resyncs();
  return eventually(() => expect(resyncs()).toBeGreaterThan(before));
};

/** The key of the view's records of a kind; the sync marks end alike. */
const hashOf = async (kind: string): Promise<string> => {
  const keys = await keysOf(redis, `{${PREFIX}:${ns}}:*:${kind}`);
  return keys.find((key) => !key.includes(':m:')) ?? '';
};

beforeAll(async () => {
  redis = openRedis();
  ns = await freshNamespace('resync');
  const options = ['--redis-prefix', PREFIX, '--resync-seconds', '2', '--namespaces', ns];
  tether = spawnTether(['up', ...options, '--log-format', 'json'], { lifetime: 'file' });
  await tether.untilLog(/"ready"/);
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
  await eventually(async () => {
    expect(await endpointsOf(ns, 'web')).toEqual(['192.0.2.10 8080 ready']);
  });
});
afterAll(async () => {
  redis.disconnect();
});

describe('a resync', () => {
  it('writes nothing where everything is right (A6, H3)', async () => {
    const before = (await slicesOf(ns, 'web')).map(({ metadata }) => metadata?.resourceVersion);
    await anotherResync();
    await anotherResync();
    const after = (await slicesOf(ns, 'web')).map(({ metadata }) => metadata?.resourceVersion);
    expect(after).toEqual(before);
  });

  it('repairs a hole in the view, and says that it found one (A6, report 71)', async () => {
    const hash = await hashOf('workload');
    expect(await redis.hdel(hash, 'vm')).toBe(1);
    await eventually(async () => expect(await redis.hkeys(hash)).toEqual(['vm']));
    await tether.untilLog(/"kind":"workload","count":1.*a list found changes/);
    expect(await endpointsOf(ns, 'web')).toEqual(['192.0.2.10 8080 ready']);
  });

  it('removes from the view what is not there any more (A6)', async () => {
    const hash = await hashOf('service');
    const ghost = ['1', 'uid-ghost', '{}', '{"name":"ghost","ports":[]}'].join('\n');
    await redis.hset(hash, 'ghost', ghost);
    await eventually(async () => expect(await redis.hkeys(hash)).toEqual(['web']));
  });

  it('is made by one watcher at a time (A6)', async () => {
    const claim = (who: string) => claimTurn(redis, `${PREFIX}-turn`, 'resync', who, 60_000);
    const turns = await Promise.all(['a', 'b', 'c'].map(claim));
    expect(turns.filter(Boolean)).toHaveLength(1);
    await redis.del(`{${PREFIX}-turn}:turn:resync`);
  });
});
