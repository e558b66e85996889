import { describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';
import { observed } from '../../support/queue-scripted-handle.ts';

/*
 * Part of the queue is gone, by somebody's hand or a partial restore. Whatever part it is: the next add
 * of a key makes it run. (That a key runs once at a time is then up to the key's own lock.)
 */

/** What the queue keeps; `#` stands for the id of the job of `ns1/web`. */
const EACH: readonly (readonly string[])[] = [
  ['#'],
  ['#:lock'],
  ['de:ns1/web'],
  ['dn:ns1/web'],
  ['prioritized'],
  ['wait'],
  ['active'],
  ['delayed'],
  ['stalled'],
  ['stalled-check'],
  ['marker'],
  ['meta'],
  ['id'],
  ['pc'],
  ['events'],
];
const TOGETHER: readonly (readonly string[])[] = [
  ['active', '#:lock'],
  ['active', '#'],
  ['prioritized', 'active', 'delayed', 'wait'],
  ['#', 'de:ns1/web'],
];

/** Does the same for each of these parts at once, each in a queue of its own; gives what failed. */
async function forEach(
  parts: readonly (readonly string[])[],
  act: (harness: QueueHarness, lose: () => Promise<void>) => Promise<void>,
): Promise<readonly string[]> {
  const failures = parts.map(async (part) => {
    const harness = await openHarness();
    const base = `{${harness.prefix}}:service:`;
    const lose = async (): Promise<void> => {
      const job = (await harness.redis.get(`${base}de:ns1/web`)) ?? '';
      await harness.redis.del(part.map((key) => base + key.replace('#', job)));
    };
    try {
      await act(harness, lose);
      return [];
    } catch (error) {
      return [`without ${part.join(', ')}: ${String(error)}`];
    } finally {
      await harness.close();
    }
  });
  return (await Promise.all(failures)).flat();
}

/** One more event of each key leads to a run that has seen it. */
async function expectServed(harness: QueueHarness): Promise<void> {
  for (const key of ['ns1/web', 'ns1/other']) {
    await harness.release(key);
    await harness.redis.hset(observed.wanted(harness.prefix), key, 7);
    await harness.queue.addEvents([event(key)]);
  }
  for (const key of ['ns1/web', 'ns1/other']) {
    await eventually(
      async () => {
        expect(await harness.redis.hget(observed.done(harness.prefix), key)).toBe('7');
      },
      { timeoutMs: 20_000 },
    );
  }
  // What is left of a job that was lost can be listed.
  await harness.queue.failedJobs(10);
}

describe('any part of the queue is lost while a job of the key (report 101)', () => {
  test('waits', async () => {
    const failures = await forEach([...EACH, ...TOGETHER], async (harness, lose) => {
      await harness.queue.addEvents([event('ns1/web'), event('ns1/other')]);
      await lose();
      harness.startWorker();
      await expectServed(harness);
    });
    expect(failures).toEqual([]);
  });

  test('backs off', async () => {
    const failures = await forEach([...EACH, ...TOGETHER], async (harness, lose) => {
      await harness.plan('ns1/web', { end: { laterMs: 60_000 } });
      harness.startWorker();
      await harness.queue.addEvents([event('ns1/web')]);
      await eventually(async () =>
        expect(await harness.queue.counts()).toMatchObject({ delayed: 1 }),
      );
      await lose();
      await expectServed(harness);
    });
    expect(failures).toEqual([]);
  });

  test('is run, and was dirtied again meanwhile', async () => {
    // Where the counter of ids is lost, the id of the job that runs is given away again.
    const parts = [...EACH, ...TOGETHER].filter(([part]) => part !== 'id');
    const failures = await forEach(parts, async (harness, lose) => {
      await harness.plan('ns1/web', { hold: true });
      harness.startWorker();
      await harness.queue.addEvents([event('ns1/web')]);
      await harness.untilSeen('ns1/web', 'start', 1);
      await harness.queue.addEvents([event('ns1/web')]);
      await lose();
      await expectServed(harness);
    });
    expect(failures).toEqual([]);
  });

  test('is run under an id that is given away again: right with the next add', async () => {
    const failures = await forEach([['id']], async (harness, lose) => {
      await harness.plan('ns1/web', { hold: true });
      harness.startWorker();
      await harness.queue.addEvents([event('ns1/web')]);
      await harness.untilSeen('ns1/web', 'start', 1);
      await lose();
      await harness.queue.addEvents([event('ns1/other')]);
      await harness.release('ns1/web');
      await harness.untilIdle();
      await expectServed(harness);
    });
    expect(failures).toEqual([]);
  });

  test('was run by a worker that was killed', async () => {
    const parts = [
      ['#'],
      ['#:lock'],
      ['de:ns1/web'],
      ['active'],
      ['stalled'],
      ['active', '#:lock'],
    ];
    const failures = await forEach(parts, async (harness, lose) => {
      await harness.plan('ns1/web', { hold: true });
      const worker = await harness.spawnWorker();
      await harness.queue.addEvents([event('ns1/web')]);
      await harness.untilSeen('ns1/web', 'start', 1);
      await worker.kill();
      await lose();
      harness.startWorker();
      await expectServed(harness);
    });
    expect(failures).toEqual([]);
  });
});
