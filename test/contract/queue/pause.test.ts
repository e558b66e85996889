import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Handle } from '../../../platform/redis/queue/disposition.ts';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

const KEYS = Array.from({ length: 20 }, (_, at) => `a/web-${at}`);

/** Notes the keys that it is given, in `taken`. */
function noting(taken: string[]): Handle {
  return async ({ key }) => {
    taken.push(`${key.namespace}/${key.name}`);
    return { kind: 'complete', result: null };
  };
}

describe('a worker that is paused', () => {
  test('takes what has come meanwhile when it is told to go on', async () => {
    const taken: string[] = [];
    const worker = harness.startWorker({ handle: noting(taken) });
    worker.pause();
    expect(worker.health().paused).toBe(true);
    await harness.queue.addEvents(KEYS.map((key) => event(key)));
    worker.resume();
    await harness.untilIdle();
    expect(new Set(taken)).toEqual(new Set(KEYS));
    expect(worker.health()).toMatchObject({ paused: false, active: 0 });
  });

  test('leaves to others all but what it was waiting for', async () => {
    const own: string[] = [];
    const others: string[] = [];
    const worker = harness.startWorker({ handle: noting(own) });
    await harness.queue.addEvents([event('a/first')]);
    await harness.untilIdle();
    worker.pause();
    await harness.queue.addEvents(KEYS.map((key) => event(key)));
    harness.startWorker({ handle: noting(others) });
    await harness.untilIdle();
    // The first, and the one that wakes it.
    expect(own.length).toBeLessThanOrEqual(2);
    expect(new Set([...own, ...others])).toEqual(new Set(['a/first', ...KEYS]));
  });

  test('lets runs under way end', async () => {
    const held = Promise.withResolvers<void>();
    let started = 0;
    const worker = harness.startWorker({
      handle: async () => {
        started += 1;
        await held.promise;
        return { kind: 'complete', result: null };
      },
    });
    await harness.queue.addEvents([event('a/web')]);
    await eventually(() => expect(started).toBe(1));
    worker.pause();
    held.resolve();
    await harness.untilIdle();
    expect(started).toBe(1);
  });

  test('can be paused and resumed again and again', async () => {
    const taken: string[] = [];
    const worker = harness.startWorker({ handle: noting(taken) });
    for (const key of KEYS) {
      worker.pause();
      await harness.queue.addEvents([event(key)]);
      worker.resume();
      await harness.untilIdle();
    }
    expect(taken.toSorted()).toEqual(KEYS.toSorted());
  });

  test('drains at once', async () => {
    const worker = harness.startWorker({ handle: noting([]) });
    worker.pause();
    expect(await worker.drain(1_000)).toEqual({ unfinished: 0 });
  });
});
