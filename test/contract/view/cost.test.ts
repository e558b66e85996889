import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { NS, openFixture, service, workload, type ViewFixture } from './fixture.ts';

/** Counts commands, so it needs a Redis to which nobody else talks. */
let server: PrivateRedis;
let view: ViewFixture;
beforeAll(async () => {
  server = await startPrivateRedis();
  view = openFixture(server.url);
});
afterAll(async () => {
  await view.close();
  await server.stop();
});

/** Redis commands that one change costs inside of its script. */
async function costOf(change: () => Promise<unknown>): Promise<number> {
  const calls = async (): Promise<number> => {
    const stats = await view.redis.info('commandstats');
    return [...stats.matchAll(/cmdstat_(?:hget|smembers|scard|hset|sadd|get)[^=]*=(\d+)/g)]
      .map((match) => Number(match[1]))
      .reduce((sum, count) => sum + count, 0);
  };
  const before = await calls();
  await change();
  return (await calls()) - before;
}

it('a workload event costs the same in a namespace of one Service and of two thousand', async () => {
  const flip = (rv: number) => () =>
    view.put('workload', workload('vm', rv, { ready: rv % 2 === 0 }));
  await view.put('service', service('web', 1));
  await flip(10)();
  const few = await costOf(flip(11));
  const more = Array.from({ length: 2_000 }, (_, i) => ({
    op: 'upsert' as const,
    kind: 'service' as const,
    object: service(`svc-${i}`, 100 + i, { selector: { app: `svc-${i}`, tier: 'backend' } }),
  }));
  await view.writer.apply(NS, more);
  expect(await costOf(flip(12))).toBe(few);
});
