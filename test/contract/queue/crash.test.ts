import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import {
  event,
  openHarness,
  overlapsIn,
  type QueueHarness,
  type WorkerProcess,
} from '../../support/queue-harness.ts';
import { observed } from '../../support/queue-scripted-handle.ts';

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

/** The worker that began the latest run of a key. */
async function runnerOf(
  key: string,
  runs: number,
  workers: readonly WorkerProcess[],
): Promise<WorkerProcess> {
  const start = (await harness.untilSeen(key, 'start', runs))[runs - 1];
  const worker = workers.find(({ name }) => name === start?.worker);
  if (worker === undefined) throw new Error(`no worker is named ${start?.worker}`);
  return worker;
}

describe('guarantee 2: two runs of one key do not overlap', () => {
  test('with several workers and many adds', async () => {
    await Promise.all([harness.spawnWorker(), harness.spawnWorker()]);
    harness.startWorker({ concurrency: 10, failureRate: 0.2 });
    for (let round = 0; round < 40; round++) {
      await harness.queue.addEvents(Array.from({ length: 5 }, (_, i) => event(`a/web-${i}`)));
    }
    await harness.untilIdle();
    const seen = await harness.seen();
    expect(overlapsIn(seen)).toEqual([]);
    expect(new Set(seen.map((line) => line.worker)).size).toBeGreaterThan(1);
  });

  test('nor while a run takes three times as long as its lock lasts', async () => {
    await Promise.all([harness.spawnWorker(), harness.spawnWorker()]);
    await harness.plan('a/web', { hold: true });
    await harness.queue.addEvents([event('a/web')]);
    const [start] = await harness.untilSeen('a/web', 'start', 1);
    await eventually(async () => {
      const [seconds] = await harness.redis.time();
      expect(Number(seconds) * 1000).toBeGreaterThan((start?.time ?? 0) + 6000);
    });
    await harness.release('a/web');
    await harness.untilIdle();
    expect(await harness.seen('a/web')).toHaveLength(2);
  });

  test('a process paused for longer than its lock is told so, and settles nothing any more (report 103)', async () => {
    const workers = [await harness.spawnWorker(), await harness.spawnWorker()];
    await harness.plan('ns1/web', { hold: true });
    await harness.queue.addEvents([event('ns1/web')]);
    const paused = await runnerOf('ns1/web', 1, workers);
    paused.child.signal('SIGSTOP');
    // The other one holds, too, so that its job is still under way when the first one wakes.
    await harness.plan('ns1/web', { hold: true });
    const other = await runnerOf('ns1/web', 2, workers);
    expect(other).not.toBe(paused);
    paused.child.signal('SIGCONT');
    const [aborted] = await harness.untilSeen('ns1/web', 'aborted', 1);
    expect(aborted?.worker).toBe(paused.name);
    await harness.release('ns1/web');
    const [end] = await harness.untilSeen('ns1/web', 'end', 1);
    expect(end?.worker).toBe(other.name);
    await harness.untilIdle();
    expect(await harness.seen('ns1/web')).toHaveLength(4);
    expect(await harness.queue.failedJobs(10)).toEqual([]);
  });

  test('a function that blocks the loop for longer than its lock is told so afterwards (report 103)', async () => {
    const workers = [await harness.spawnWorker(), await harness.spawnWorker()];
    await harness.plan('ns1/web', { blockLoopMs: 6000, hold: true }, { hold: true });
    await harness.queue.addEvents([event('ns1/web')]);
    const blocked = await runnerOf('ns1/web', 1, workers);
    expect(await runnerOf('ns1/web', 2, workers)).not.toBe(blocked);
    const [aborted] = await harness.untilSeen('ns1/web', 'aborted', 1);
    expect(aborted?.worker).toBe(blocked.name);
    await harness.release('ns1/web');
    await harness.untilIdle();
  });
});

describe('guarantee 5: nothing is lost', () => {
  test('a job of a killed worker runs again within 5 s', async () => {
    const workers = [await harness.spawnWorker(), await harness.spawnWorker()];
    await harness.plan('a/web', { hold: true });
    await harness.queue.addEvents([event('a/web')]);
    await (await runnerOf('a/web', 1, workers)).kill();
    const [killed] = (await harness.seen()).filter((line) => line.what === 'killed');
    const [end] = await harness.untilSeen('a/web', 'end', 1);
    expect((end?.time ?? Infinity) - (killed?.time ?? 0)).toBeLessThan(5000);
  });

  test('nor is one that kills its worker four times in a row', async () => {
    await harness.plan('a/web', ...Array.from({ length: 4 }, () => ({ hold: true })));
    await harness.queue.addEvents([event('a/web')]);
    for (let kills = 0; kills < 4; kills++) {
      const worker = await harness.spawnWorker();
      await harness.untilSeen('a/web', 'start', kills + 1);
      await worker.kill();
    }
    await harness.spawnWorker();
    await harness.untilSeen('a/web', 'end', 1);
    await harness.untilIdle();
    expect(await harness.queue.failedJobs(10)).toEqual([]);
  });

  test('nor is an event that came while the worker was being killed (report 99)', async () => {
    const first = await harness.spawnWorker();
    await harness.plan('ns1/web', { hold: true });
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'start', 1);
    await harness.redis.hset(observed.wanted(harness.prefix), 'ns1/web', 2);
    await harness.queue.addEvents([event('ns1/web')]);
    await first.kill();
    await harness.spawnWorker();
    await harness.untilIdle();
    expect(await harness.redis.hget(observed.done(harness.prefix), 'ns1/web')).toBe('2');
  });

  test('a de-duplication key that outlived its job swallows nothing (report 101)', async () => {
    const worker = await harness.spawnWorker();
    await harness.plan('ns1/web', { hold: true });
    await harness.queue.addEvents([event('ns1/web')]);
    const [start] = await harness.untilSeen('ns1/web', 'start', 1);
    await worker.kill();
    const base = `{${harness.prefix}}:service:`;
    const gone = [start?.job ?? '', `${start?.job}:lock`, 'active', 'stalled', 'events', 'meta'];
    await harness.redis.del(gone.map((key) => base + key));
    expect(await harness.redis.exists(`${base}de:ns1/web`)).toBe(1);
    await harness.spawnWorker();
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'end', 1, 5000);
  });

  test('nor does one whose job lost its place in line, and a resync frees its own (report 101)', async () => {
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.redis.del(`{${harness.prefix}}:service:prioritized`);
    await harness.spawnWorker();
    await harness.queue.addResync([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'end', 1);
    await harness.queue.addEvents([event('ns1/web')]);
    const ends = await harness.untilSeen('ns1/web', 'end', 2, 5000);
    // What was freed is added once more, which is one more run where a worker was quick.
    expect(ends.slice(0, 2).map((line) => line.class)).toEqual(['resync', 'event']);
  });
});
