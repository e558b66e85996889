import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { makeChurn, say, type Churn } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, startPair, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';

/** A Redis of the file's own, and two of each role on it. */
let server: PrivateRedis;
let redis: Redis;
let fleet: Fleet;
let churn: Churn;
beforeAll(async () => {
  server = await startPrivateRedis();
  redis = new Redis(server.url);
  const namespace = await freshNamespace('flush');
  fleet = openFleet(namespace, { redisUrl: server.url });
  await startPair(fleet);
  churn = await makeChurn(namespace, 6);
});
afterAll(async () => {
  await churn.end();
  await fleet.killAll();
  await redis.quit();
  await server.stop();
});

/** So many changes were made since. */
async function changesSince(from: number, count: number): Promise<void> {
  await eventually(() => expect(churn.changes - from).toBeGreaterThanOrEqual(count));
}

describe('Redis loses all its data while things change', () => {
  test('again and again: no endpoint is missed at any moment, and all is right in the end (view 4)', async () => {
    churn.start();
    for (let round = 1; round <= 3; round += 1) {
      const from = churn.changes;
      await changesSince(from, 15);
      await redis.flushall();
      await changesSince(from, 30);
    }
    await churn.stop();
    const gap = await churn.converged();
    say(`FLUSHALL three times under churn: slices right ${gap} ms after the last change`);
    await fleet.untilQuiet();
    await churn.check();
    // Nobody died of it, and the view is filled again.
    expect([fleet.watchers.length, fleet.workers.length]).toEqual([2, 2]);
    await eventually(async () => expect(await redis.keys('*:m:*')).toHaveLength(3));
  });
});
