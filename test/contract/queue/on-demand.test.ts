import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseKey } from '../../../core/object-key.ts';
import { eventually } from '../../support/eventually.ts';
import { openHarness, type QueueHarness } from '../../support/queue-harness.ts';

const LATER = { kind: 'later', delayMs: 60_000, reason: 'planned failure' } as const;
/** Five minutes, which is how long anybody may wait, and a second. */
const OUTLIVED_MS = 301_000;

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

/** Adds one that was asked for so long ago. */
async function asked(agoMs: number, reason = 'test'): Promise<string> {
  const id = await harness.queue.addOnDemand(parseKey('a/web'), reason);
  await harness.redis.hset(jobKey(id), { timestamp: Date.now() - agoMs });
  return id;
}

const jobKey = (id: string): string => `{${harness.prefix}}:service:${id}`;

const untilCounts = (counts: object): Promise<void> =>
  eventually(async () =>
    expect(await harness.queue.counts()).toMatchObject({
      waiting: 0,
      active: 0,
      prioritized: 0,
      failed: 0,
      ...counts,
    }),
  );

describe('an on-demand job of a key that fails', () => {
  test('goes on as an event of the key once nobody can wait for it, and ends', async () => {
    const minute = { end: { laterMs: 60_000 } };
    await harness.plan('a/web', minute, minute);
    const id = await asked(OUTLIVED_MS, 'somebody asked');
    harness.startWorker();
    const starts = await harness.untilSeen('a/web', 'start', 2);
    expect(starts).toMatchObject([
      { class: 'on-demand', job: id },
      { class: 'event', reason: 'somebody asked' },
    ]);
    await untilCounts({ delayed: 1 });
    expect(await harness.redis.exists(jobKey(id))).toBe(0);
    // Who asks for its outcome late is told why it was put off.
    const report = await harness.queue.waitFor(id, { timeoutMs: 5_000 });
    expect(report).toEqual({ kind: 'pending', retries: 1, reason: 'planned failure' });
  });

  test('is one event with all others that were asked for', async () => {
    for (let n = 0; n < 10; n++) await asked(OUTLIVED_MS);
    let onDemand = 0;
    harness.startWorker({
      handle: async (job) => {
        if (job.class === 'on-demand') onDemand += 1;
        return LATER;
      },
    });
    await untilCounts({ delayed: 1 });
    expect(onDemand).toBe(10);
    expect(await harness.redis.exists(`{${harness.prefix}}:service:de:a/web`)).toBe(1);
    expect(await harness.queue.countOnDemand()).toBe(0);
  });

  test('stays itself for as long as somebody may wait for it', async () => {
    const id = await asked(200_000);
    harness.startWorker({ handle: async () => LATER });
    await untilCounts({ delayed: 1 });
    expect(await harness.redis.exists(jobKey(id))).toBe(1);
    expect(await harness.redis.exists(`{${harness.prefix}}:service:de:a/web`)).toBe(0);
  });

  test('counts as one that was asked for until it ends', async () => {
    await harness.plan('a/web', { end: { laterMs: 20 } }, { hold: true });
    const id = await asked(0);
    expect(await harness.queue.countOnDemand()).toBe(1);
    harness.startWorker();
    await harness.untilSeen('a/web', 'start', 2);
    expect(await harness.queue.countOnDemand()).toBe(1);
    await harness.release('a/web');
    await harness.queue.waitFor(id, { timeoutMs: 20_000 });
    expect(await harness.queue.countOnDemand()).toBe(0);
  });
});
