import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseKey } from '../../../core/object-key.ts';
import { runnable } from '../../../platform/redis/queue/inspect.ts';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';

const web = parseKey('a/web');

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

describe('whoever waits for an on-demand job', () => {
  test('gets its result, from before it runs', async () => {
    const id = await harness.queue.addOnDemand(web, 'test');
    const waiting = harness.queue.waitFor(id, { timeoutMs: 20_000 });
    harness.startWorker();
    expect(await waiting).toEqual({ kind: 'completed', result: { planned: true } });
  });

  test('gets it late, and as often as they ask, though the job is gone', async () => {
    harness.startWorker();
    const id = await harness.queue.addOnDemand(web, 'test');
    await harness.untilSeen('a/web', 'end', 1);
    await harness.untilIdle();
    expect(await harness.redis.exists(`{${harness.prefix}}:service:${id}`)).toBe(0);
    for (let i = 0; i < 2; i++) {
      const report = await harness.queue.waitFor(id, { timeoutMs: 5000 });
      expect(report).toEqual({ kind: 'completed', result: { planned: true } });
    }
    const ttl = await harness.redis.pttl(`{${harness.prefix}}:outcome:service:${id}`);
    expect(ttl).toBeGreaterThan(60_000);
  });

  test('gets the last outcome of one that failed at first', async () => {
    await harness.plan('a/web', { end: { laterMs: 20 } }, { end: { laterMs: 20 } });
    harness.startWorker();
    const id = await harness.queue.addOnDemand(web, 'test');
    expect(await harness.queue.waitFor(id, { timeoutMs: 20_000 })).toMatchObject({
      kind: 'completed',
    });
  });

  test('is told why it is still pending when the time is over', async () => {
    await harness.plan('a/web', { end: { laterMs: 60_000 } });
    harness.startWorker();
    const id = await harness.queue.addOnDemand(web, 'test');
    await harness.untilSeen('a/web', 'end', 1);
    const report = await harness.queue.waitFor(id, { timeoutMs: 300 });
    expect(report).toEqual({ kind: 'pending', retries: 1, reason: 'planned failure' });
  });

  test('is told that no worker took it', async () => {
    const id = await harness.queue.addOnDemand(web, 'test');
    const report = await harness.queue.waitFor(id, { timeoutMs: 50 });
    expect(report).toEqual({ kind: 'pending', retries: 0 });
  });

  test('is told at once that there is no such job', async () => {
    const report = await harness.queue.waitFor('4711', { timeoutMs: 60_000 });
    expect(report).toEqual({ kind: 'unknown' });
  });

  test('can stop waiting', async () => {
    const id = await harness.queue.addOnDemand(web, 'test');
    const stop = new AbortController();
    const waiting = harness.queue.waitFor(id, { timeoutMs: 60_000, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  test('learns the outcome although the first worker is killed', async () => {
    await harness.plan('a/web', { hold: true });
    const first = await harness.spawnWorker();
    const id = await harness.queue.addOnDemand(web, 'test');
    const waiting = harness.queue.waitFor(id, { timeoutMs: 30_000 });
    await harness.untilSeen('a/web', 'start', 1);
    await first.kill();
    harness.startWorker();
    expect(await waiting).toMatchObject({ kind: 'completed' });
  });
});

describe('counts', () => {
  test('tell what waits, and for how long', async () => {
    await harness.queue.addResync([event('a/r1'), event('a/r2')]);
    await harness.queue.addEvents([event('a/e')]);
    await harness.queue.addOnDemand(web, 'test');
    const first = await harness.queue.counts();
    expect(first).toMatchObject({ waiting: 1, prioritized: 3, active: 0, delayed: 0, failed: 0 });
    expect(first.oldestWaitingMs).toBeLessThan(10_000);
    // The oldest of all is the first resync, although it is served last.
    const added = `{${harness.prefix}}:service:1`;
    await harness.redis.hset(added, 'timestamp', Date.now() - 3_600_000);
    const { oldestWaitingMs } = await harness.queue.counts();
    expect(oldestWaitingMs).toBeGreaterThanOrEqual(3_600_000);
  });

  test('of an empty queue are nothing', async () => {
    expect(await harness.queue.counts()).toEqual({
      waiting: 0,
      active: 0,
      delayed: 0,
      due: 0,
      prioritized: 0,
      failed: 0,
      oldestWaitingMs: 0,
    });
  });

  test('take a key that was put off for one that waits once its time has come and no worker lives', async () => {
    await harness.plan('a/web', { end: { laterMs: 60_000 } });
    const consumer = harness.startWorker();
    await harness.queue.addEvents([event('a/web')]);
    await eventually(async () =>
      expect(await harness.queue.counts()).toMatchObject({ delayed: 1, due: 0 }),
    );
    await consumer.drain(0);
    expect(runnable(await harness.queue.counts())).toBe(0);
    expect(await harness.queue.counts()).toMatchObject({ oldestWaitingMs: 0 });
    const base = `{${harness.prefix}}:service:`;
    const job = (await harness.redis.get(`${base}de:a/web`)) ?? '';
    const ago = (ms: number): number => (Date.now() - ms) * 4096;
    await harness.redis.zadd(`${base}delayed`, ago(5_000), job);
    const due = await harness.queue.counts();
    expect(due).toMatchObject({ delayed: 1, due: 1, waiting: 0, prioritized: 0 });
    expect(runnable(due)).toBe(1);
    expect(due.oldestWaitingMs).toBeGreaterThanOrEqual(4_900);
    expect(due.oldestWaitingMs).toBeLessThan(60_000);
  });

  test('tell how long a key waits since its last run, not since it was added hours ago', async () => {
    await harness.queue.addEvents([event('a/web')]);
    const base = `{${harness.prefix}}:service:`;
    const job = (await harness.redis.get(`${base}de:a/web`)) ?? '';
    const [hours, seconds] = [Date.now() - 7_200_000, Date.now() - 3_000];
    await harness.redis.hset(base + job, { timestamp: hours, processedOn: seconds });
    const { oldestWaitingMs } = await harness.queue.counts();
    expect(oldestWaitingMs).toBeGreaterThanOrEqual(2_900);
    expect(oldestWaitingMs).toBeLessThan(3_600_000);
  });
});

describe('the health of a consumer', () => {
  test('shows that its loop turns, and what it works on', async () => {
    const consumer = harness.startWorker();
    await harness.plan('a/web', { hold: true });
    await harness.queue.addEvents([event('a/web')]);
    await harness.untilSeen('a/web', 'start', 1);
    expect(consumer.health()).toMatchObject({ active: 1, connected: true });
    await harness.release('a/web');
    await harness.untilIdle();
    await harness.queue.addEvents([event('a/web')]);
    await harness.untilSeen('a/web', 'end', 2);
    expect(consumer.health()).toMatchObject({ active: 0, oldestActiveMs: 0 });
    expect(consumer.health().lastProgressMs).toBeLessThan(5000);
  });
});
