import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { formatKey, parseKey } from '../../../core/object-key.ts';
import type { Disposition, Handle } from '../../../platform/redis/queue/run-job.ts';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';

/** A run as its function saw it, ms since 1970. */
interface Run {
  readonly key: string;
  readonly enqueuedAt: number;
  readonly from: number;
  readonly to: number;
}

let harness: QueueHarness;
let runs: Run[];
beforeEach(async () => {
  harness = await openHarness();
  runs = [];
});
afterEach(() => harness.close());

const DONE: Disposition = { kind: 'complete', result: null };

/** Writes down each run; `act` says what comes of it, given how many the key had before. */
function noting(act: (key: string, nth: number) => Promise<Disposition> | Disposition): Handle {
  return async (job) => {
    const from = Date.now();
    const key = formatKey(job.key);
    const nth = runs.filter((run) => run.key === key).length;
    const disposition = await act(key, nth);
    runs.push({ key, enqueuedAt: job.enqueuedAt, from, to: Date.now() });
    return disposition;
  };
}

async function untilRan(key: string, times: number): Promise<readonly Run[]> {
  return eventually(() => {
    const found = runs.filter((run) => run.key === key);
    if (found.length < times) throw new Error(`${found.length} runs of ${key}`);
    return found;
  });
}

describe('since when a job waits', () => {
  test.each(['event', 'on-demand'])(
    'one of class %s: since its add, and once it was put off since it was due again',
    async (kind) => {
      const delays = [40, 60];
      const handle = noting((_, nth) => {
        const delayMs = delays[nth];
        return delayMs === undefined ? DONE : { kind: 'later', delayMs, reason: 'planned' };
      });
      harness.startWorker({ handle });
      const before = Date.now();
      if (kind === 'event') await harness.queue.addEvents([event('a/web')]);
      else await harness.queue.addOnDemand(parseKey('a/web'), 'test');
      const found = await untilRan('a/web', 3);
      const due = [before, ...found.map(({ to }, nth) => to + (delays[nth] ?? 0))];
      for (const [nth, { enqueuedAt, from }] of found.entries()) {
        expect(enqueuedAt).toBeGreaterThanOrEqual(due[nth] ?? Infinity);
        expect(enqueuedAt).toBeLessThanOrEqual(from);
      }
    },
  );

  test('one that an event during its run made due at once: since then, and not since its turn', async () => {
    const handle = noting(async (key, nth) => {
      if (key === 'a/first') {
        // By the clock this is later than what went before.
        for (const now = Date.now(); Date.now() <= now;) await turn();
        return DONE;
      }
      if (nth > 0) return DONE;
      await harness.queue.addEvents([event('a/web')]);
      await harness.queue.addOnDemand(parseKey('a/first'), 'goes before');
      return { kind: 'later', delayMs: 60_000, reason: 'planned' };
    });
    harness.startWorker({ concurrency: 1, handle });
    await harness.queue.addEvents([event('a/web')]);
    const [first, second] = await untilRan('a/web', 2);
    const [between] = await untilRan('a/first', 1);
    expect(second?.enqueuedAt).toBeGreaterThanOrEqual(first?.to ?? Infinity);
    expect(second?.enqueuedAt).toBeLessThanOrEqual(between?.from ?? -Infinity);
  });

  test('one that an event brought forward has not waited for the rest of its backoff', async () => {
    const handle = noting((_, nth) =>
      nth > 0 ? DONE : { kind: 'later', delayMs: 60_000, reason: 'planned' },
    );
    harness.startWorker({ handle });
    await harness.queue.addEvents([event('a/web')]);
    await eventually(async () =>
      expect(await harness.queue.counts()).toMatchObject({ delayed: 1 }),
    );
    await harness.queue.addEvents([event('a/web')]);
    const [first, second] = await untilRan('a/web', 2);
    expect(second?.enqueuedAt).toBeGreaterThanOrEqual(first?.to ?? Infinity);
    expect(second?.enqueuedAt).toBeLessThanOrEqual(second?.from ?? -Infinity);
  });

  test('one that a worker put back: since then', async () => {
    let taken = false;
    let endedAt = Infinity;
    const worker = harness.startWorker({
      handle: async (_, signal) => {
        taken = true;
        while (!signal.aborted) await turn();
        endedAt = Date.now();
        throw signal.reason;
      },
    });
    await harness.queue.addEvents([event('a/web')]);
    await eventually(() => expect(taken).toBe(true));
    await worker.drain(0);
    harness.startWorker({ handle: noting(() => DONE) });
    const [run] = await untilRan('a/web', 1);
    expect(run?.enqueuedAt).toBeGreaterThanOrEqual(endedAt);
    expect(run?.enqueuedAt).toBeLessThanOrEqual(run?.from ?? -Infinity);
  });
});
