import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseKey } from '../../../core/object-key.ts';
import { takeOutNamespace, type TakenOut } from '../../../platform/redis/queue/namespace-jobs.ts';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';
import { keysOf } from '../../support/redis.ts';

const MINUTE = { end: { laterMs: 60_000 } } as const;

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

const takeOut = (): Promise<TakenOut> =>
  takeOutNamespace(harness.redis, { prefix: harness.prefix, name: 'service' }, 'shop');

/** What is kept for keys of a namespace beside their jobs. */
const marks = (): Promise<string[]> => keysOf(harness.redis, `{${harness.prefix}}:service:d[en]:*`);

describe('the jobs of one namespace', () => {
  test('are taken out of every line; those of a namespace whose name begins alike stay', async () => {
    const { queue } = harness;
    for (const key of ['shop/d', 'shop/e', 'shop-2/d']) await harness.plan(key, MINUTE);
    const worker = harness.startWorker();
    await queue.addEvents([event('shop/d'), event('shop-2/d')]);
    await queue.addOnDemand(parseKey('shop/e'), 'test');
    await eventually(async () => expect(await queue.counts()).toMatchObject({ delayed: 3 }));
    await worker.drain(0);
    await queue.addOnDemand(parseKey('shop/a'), 'test');
    // Names the namespace, and is of another.
    await queue.addEvents([event('shop/b'), event('shop-2/b', 'as shop/b')]);
    await queue.addResync([event('shop/c')]);

    expect(await takeOut()).toEqual({ taken: 5, running: 0 });
    expect(await queue.counts()).toMatchObject({ waiting: 0, delayed: 1, prioritized: 1 });
    expect(await queue.countOnDemand()).toBe(0);
    const base = `{${harness.prefix}}:service:`;
    expect((await marks()).sort()).toEqual([`${base}de:shop-2/b`, `${base}de:shop-2/d`]);
    // Nothing that is left swallows the next add.
    await queue.addEvents([event('shop/d')]);
    harness.startWorker();
    await harness.untilSeen('shop/d', 'end', 2);
  });

  test('stay while they run, and are taken out once their worker is dead', async () => {
    await harness.plan('shop/a', { hold: true });
    const worker = await harness.spawnWorker();
    await harness.queue.addEvents([event('shop/a')]);
    await harness.untilSeen('shop/a', 'start', 1);
    // Stored beside the job, to become one after it.
    await harness.queue.addEvents([event('shop/a')]);
    expect(await takeOut()).toEqual({ taken: 0, running: 1 });
    await worker.kill();
    await eventually(async () => expect(await takeOut()).toEqual({ taken: 1, running: 0 }));
    expect(await marks()).toEqual([]);
    expect(await harness.queue.counts()).toMatchObject({ active: 0, waiting: 0, prioritized: 0 });
  });
});
