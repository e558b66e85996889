import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { backoffMs } from '../../../core/backoff.ts';
import { parseKey } from '../../../core/object-key.ts';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';

const BOUNDS = { baseMs: 50, capMs: 60_000 };
const MINUTE = { end: { laterMs: 60_000 } } as const;

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

async function untilDelayed(): Promise<void> {
  await eventually(async () => expect(await harness.queue.counts()).toMatchObject({ delayed: 1 }), {
    intervalMs: 3,
  });
}

describe('guarantee 4: failures back off for each key', () => {
  test('fifteen failures follow the documented sequence and cap, success begins it anew (report 98)', async () => {
    let failures = 0;
    const asked: number[] = [];
    harness.startWorker({
      concurrency: 1,
      handle: async () => {
        if (failures === 15) {
          failures = 0;
          return { kind: 'complete', result: null };
        }
        const delayMs = backoffMs(++failures, BOUNDS, Math.random);
        asked.push(delayMs);
        return { kind: 'later', delayMs, reason: 'planned' };
      },
    });
    const stored: number[] = [];
    for (let n = 1; n <= 16; n++) {
      // The first add makes the job; each later one is an event during its backoff.
      await harness.queue.addEvents([event('ns1/web')]);
      if (n === 16) await harness.untilIdle();
      else
        await eventually(() => expect(asked.length).toBeGreaterThanOrEqual(n), { intervalMs: 2 });
      if (n > 10 && n < 16) {
        await untilDelayed();
        stored.push(Number(await harness.redis.hget(`{${harness.prefix}}:service:1`, 'delay')));
      }
    }
    await harness.queue.addEvents([event('ns1/web')]);
    await eventually(() => expect(asked).toHaveLength(16));
    const steps = [50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200];
    [...steps, 60_000, 60_000, 60_000, 60_000, 50].forEach((step, i) => {
      expect(asked[i]).toBeGreaterThanOrEqual(step / 2);
      expect(asked[i]).toBeLessThanOrEqual(step);
    });
    stored.forEach((delay, i) => expect(Math.abs(delay - (asked[10 + i] ?? 0))).toBeLessThan(50));
  });

  test('no run begins before its delay is over', async () => {
    await harness.plan('a/web', { end: { laterMs: 60 } }, { end: { laterMs: 400 } });
    harness.startWorker();
    await harness.queue.addEvents([event('a/web')]);
    const ends = await harness.untilSeen('a/web', 'end', 3);
    const starts = await harness.untilSeen('a/web', 'start', 3);
    const gaps = [1, 2].map((i) => (starts[i]?.time ?? 0) - (ends[i - 1]?.time ?? 0));
    expect(gaps[0]).toBeGreaterThanOrEqual(55);
    expect(gaps[1]).toBeGreaterThanOrEqual(395);
    expect(gaps[1]).toBeLessThan(2000);
  });

  test('a key that backs off holds up no other key', async () => {
    await harness.plan('a/bad', MINUTE);
    harness.startWorker({ concurrency: 1 });
    await harness.queue.addEvents([event('a/bad'), event('a/good')]);
    await harness.untilSeen('a/good', 'end', 1);
  });

  test.each(['event', 'resync'] as const)(
    'an %s add during the backoff runs at once',
    async (kind) => {
      await harness.plan('a/web', MINUTE);
      harness.startWorker();
      const add = kind === 'event' ? harness.queue.addEvents : harness.queue.addResync;
      await add([event('a/web', 'first', 1000)]);
      await untilDelayed();
      await add([event('a/web', 'second', 2000)]);
      const starts = await harness.untilSeen('a/web', 'start', 2, 5000);
      await harness.untilIdle();
      expect(await harness.seen('a/web')).toHaveLength(4);
      // The change that nobody has acted upon yet is the first one.
      expect(starts[1]).toMatchObject({ at: '1000', class: kind });
    },
  );

  test('an on-demand add during the backoff runs at once', async () => {
    await harness.plan('a/web', MINUTE);
    harness.startWorker();
    await harness.queue.addEvents([event('a/web')]);
    await untilDelayed();
    const id = await harness.queue.addOnDemand(parseKey('a/web'), 'somebody asks');
    expect(await harness.queue.waitFor(id, { timeoutMs: 5000 })).toMatchObject({
      kind: 'completed',
    });
  });

  test('an event during a run that then fails runs at once, and is one run, not two', async () => {
    await harness.plan('a/web', { hold: true, ...MINUTE });
    harness.startWorker();
    await harness.queue.addEvents([event('a/web')]);
    await harness.untilSeen('a/web', 'start', 1);
    await harness.queue.addEvents([event('a/web')]);
    await harness.queue.addEvents([event('a/web')]);
    await harness.release('a/web');
    await harness.untilSeen('a/web', 'end', 2, 5000);
    await harness.untilIdle();
    expect(await harness.seen('a/web')).toHaveLength(4);
  });

  test('a function that throws loses no key: it runs again, later each time', async () => {
    const bug = { end: 'throw' } as const;
    await harness.plan('a/web', bug, bug, bug, bug);
    harness.startWorker();
    await harness.queue.addEvents([event('a/web')]);
    const ends = await harness.untilSeen('a/web', 'end', 5);
    expect((ends[4]?.time ?? 0) - (ends[3]?.time ?? 0)).toBeGreaterThanOrEqual(195);
    await harness.untilIdle();
    expect(await harness.queue.failedJobs(10)).toEqual([]);
  });

  test('a run that is refused for good is not tried again', async () => {
    await harness.plan('a/web', { end: 'reject' });
    harness.startWorker();
    await harness.queue.addEvents([event('a/web')]);
    await eventually(async () => {
      const [job] = await harness.queue.failedJobs(10);
      expect(job).toMatchObject({
        reason: 'planned refusal',
        data: expect.stringContaining('a/web'),
      });
    });
    await harness.untilIdle();
    expect(await harness.seen('a/web')).toHaveLength(2);
  });

  test('is by the clock of Redis in the end, where that of a host is an hour ahead', async () => {
    await harness.plan('a/put-off', MINUTE);
    await harness.plan('a/dirtied', MINUTE);
    harness.startWorker();
    await harness.queue.addEvents([event('a/put-off'), event('a/dirtied')]);
    await eventually(async () =>
      expect(await harness.queue.counts()).toMatchObject({ delayed: 2 }),
    );
    const base = `{${harness.prefix}}:service:`;
    // As after 400 ms of backoff, and as after an event during it, by such a clock.
    for (const [key, delay] of [
      ['a/put-off', 400],
      ['a/dirtied', 0],
    ] as const) {
      const job = (await harness.redis.get(`${base}de:${key}`)) ?? '';
      await harness.redis.hset(base + job, { delay });
      await harness.redis.zadd(`${base}delayed`, (Date.now() + 3_600_000) * 4096, job);
    }
    await harness.untilSeen('a/put-off', 'end', 2);
    await harness.untilSeen('a/dirtied', 'end', 2);
  });

  test('which leaves alone what is to wait for longer', async () => {
    await harness.plan('a/web', MINUTE);
    await harness.plan('a/other', { end: { laterMs: 30_000 } });
    harness.startWorker();
    await harness.queue.addEvents([event('a/web'), event('a/other')]);
    await eventually(async () =>
      expect(await harness.queue.counts()).toMatchObject({ delayed: 2 }),
    );
    const base = `{${harness.prefix}}:service:`;
    const web = (await harness.redis.get(`${base}de:a/web`)) ?? '';
    const due = await harness.redis.zscore(`${base}delayed`, web);
    // A job of a clock that is ahead tells that the guard has been there.
    const job = (await harness.redis.get(`${base}de:a/other`)) ?? '';
    await harness.redis.zadd(`${base}delayed`, (Date.now() + 3_600_000) * 4096, job);
    await eventually(async () => {
      const score = Number(await harness.redis.zscore(`${base}delayed`, job));
      expect(score).toBeLessThan((Date.now() + 60_000) * 4096);
    });
    expect(await harness.redis.zscore(`${base}delayed`, web)).toBe(due);
  });
});
