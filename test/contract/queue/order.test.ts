import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Queue } from 'bullmq';
import { JOB_NAME, queuePrefix } from '../../../core/job.ts';
import { parseKey } from '../../../core/object-key.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';

let harness: QueueHarness;
let anyone: Queue;
beforeEach(async () => {
  harness = await openHarness();
  anyone = new Queue('service', { connection: harness.redis, prefix: queuePrefix(harness.prefix) });
});
afterEach(async () => {
  await anyone.close();
  await harness.close();
});

/** Keys and classes of the runs so far, in the order they began. */
async function runs(key?: string): Promise<readonly string[]> {
  const seen = await harness.seen(key);
  return seen.filter((line) => line.what === 'start').map((line) => `${line.class} ${line.key}`);
}

describe('guarantee 1: adds of one key while it waits are one run', () => {
  test('whether they come in one call or in many', async () => {
    await harness.queue.addEvents([event('a/web'), event('a/web'), event('a/api')]);
    for (let i = 0; i < 20; i++) await harness.queue.addEvents([event('a/web')]);
    harness.startWorker();
    await harness.untilIdle();
    expect([...(await runs())].sort()).toEqual(['event a/api', 'event a/web']);
  });

  test('and that run knows the time of the first add, the oldest change nobody has seen', async () => {
    await harness.queue.addEvents([event('a/web', 'first', 1000)]);
    await harness.queue.addEvents([event('a/web', 'second', 2000)]);
    harness.startWorker();
    const [run] = await harness.untilSeen('a/web', 'start', 1);
    expect(run).toMatchObject({ at: '1000', reason: 'first' });
  });
});

describe('guarantee 3: an add while the key runs causes exactly one more run', () => {
  test('an event during a run is not swallowed: one run follows, however many came (report 99)', async () => {
    await harness.plan('ns1/web', { hold: true });
    harness.startWorker();
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'start', 1);
    for (let i = 0; i < 3; i++) await harness.queue.addEvents([event('ns1/web', `change ${i}`)]);
    await harness.release('ns1/web');
    await harness.untilSeen('ns1/web', 'end', 2);
    await harness.untilIdle();
    expect(await runs()).toEqual(['event ns1/web', 'event ns1/web']);
  });

  test('ten thousand events of one key, before and during its run, are two runs', async () => {
    await harness.plan('ns1/web', { hold: true });
    const many = Array.from({ length: 5_000 }, (_, at) => event('ns1/web', `change ${at}`));
    await harness.queue.addEvents(many);
    harness.startWorker({ concurrency: 16 });
    await harness.untilSeen('ns1/web', 'start', 1);
    await harness.queue.addEvents(many);
    await harness.release('ns1/web');
    await harness.untilSeen('ns1/web', 'end', 2);
    await harness.untilIdle();
    expect(await runs()).toHaveLength(2);
  });

  test('which begins after the first has ended', async () => {
    await harness.plan('ns1/web', { hold: true });
    harness.startWorker();
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'start', 1);
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.release('ns1/web');
    await harness.untilSeen('ns1/web', 'end', 2);
    const seen = await harness.seen('ns1/web');
    expect(seen.map((line) => line.what)).toEqual(['start', 'end', 'start', 'end']);
  });
});

describe('guarantee 6: a waiting user is not starved', () => {
  const many = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => event(`a/${prefix}-${i}`));

  test('on-demand is served first, then events, then resync, each in the order of its adds', async () => {
    await harness.queue.addResync(many('r', 100));
    await harness.queue.addEvents(many('e', 50));
    await harness.queue.addOnDemand(parseKey('a/r-99'), 'somebody asks');
    await anyone.add(JOB_NAME, { key: 'a/script' });
    harness.startWorker({ concurrency: 1 });
    await harness.untilIdle();
    expect(await runs()).toEqual([
      'on-demand a/r-99',
      'on-demand a/script',
      ...many('e', 50).map(({ key }) => `event a/${key.name}`),
      ...many('r', 100).map(({ key }) => `resync a/${key.name}`),
    ]);
  });

  test('an event for a key that waits as resync is served among the events', async () => {
    await harness.queue.addResync([...many('r', 20), event('a/web')]);
    await harness.queue.addEvents([event('a/web')]);
    harness.startWorker({ concurrency: 1 });
    await harness.untilIdle();
    const order = await runs();
    expect(order.indexOf('event a/web')).toBe(0);
    expect(order.indexOf('resync a/web')).toBe(21);
  });

  test('an on-demand add during a run of its key is a run of its own', async () => {
    await harness.plan('a/web', { hold: true });
    harness.startWorker();
    await harness.queue.addEvents([event('a/web')]);
    const [first] = await harness.untilSeen('a/web', 'start', 1);
    const id = await harness.queue.addOnDemand(parseKey('a/web'), 'somebody asks');
    expect(id).not.toBe(first?.job);
    expect(await harness.queue.waitFor(id, { timeoutMs: 10_000 })).toMatchObject({
      kind: 'completed',
    });
    await harness.release('a/web');
  });

  test('the run that follows an event during a run keeps its class and its place', async () => {
    await harness.plan('a/web', { hold: true });
    harness.startWorker({ concurrency: 1 });
    await harness.queue.addEvents([event('a/web')]);
    await harness.untilSeen('a/web', 'start', 1);
    await harness.queue.addResync([event('a/old')]);
    await harness.queue.addEvents([event('a/web')]);
    await harness.queue.addEvents([event('a/early')]);
    await anyone.add(JOB_NAME, { key: 'a/user' });
    await harness.release('a/web');
    await harness.untilIdle();
    expect(await runs()).toEqual([
      'event a/web',
      'on-demand a/user',
      'event a/early',
      'event a/web',
      'resync a/old',
    ]);
  });

  test('a namespace named resync is one like any other', async () => {
    await harness.queue.addEvents([event('resync/web')]);
    harness.startWorker();
    await harness.untilIdle();
    expect(await runs()).toEqual(['event resync/web']);
  });
});

describe('guarantee 7: plain adds without options are safe too', () => {
  test('one that fails is retried like the rest, whatever options it was added with', async () => {
    const later = { end: { laterMs: 10 } } as const;
    await harness.plan('a/plain', later, later, later);
    await harness.plan('a/opts', later, later, later);
    harness.startWorker();
    await anyone.add(JOB_NAME, { key: 'a/plain' });
    await anyone.add(JOB_NAME, { key: 'a/opts' }, { attempts: 2, removeOnFail: true });
    await harness.untilSeen('a/plain', 'end', 4);
    await harness.untilSeen('a/opts', 'end', 4);
    await harness.untilIdle();
    expect(await harness.queue.failedJobs(10)).toEqual([]);
  });

  test('a job that ended under an id of its own swallows no later add (report 102)', async () => {
    harness.startWorker();
    const add = () =>
      anyone.add(JOB_NAME, { key: 'ns1/web' }, { jobId: 'ns1-web', removeOnComplete: false });
    await add();
    await harness.untilSeen('ns1/web', 'end', 1);
    await harness.untilIdle();
    await add();
    await harness.untilSeen('ns1/web', 'end', 2);
  });

  test('a job that was refused and is kept swallows no event of its key (report 102)', async () => {
    await harness.plan('ns1/web', { end: 'reject' }, { end: 'reject' });
    harness.startWorker();
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'end', 1);
    await anyone.add(JOB_NAME, { key: 'ns1/web' }, { jobId: 'ns1-web' });
    await harness.untilSeen('ns1/web', 'end', 2);
    await harness.untilIdle();
    expect(await harness.queue.failedJobs(10)).toHaveLength(2);
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'end', 3);
  });
});

describe('a queue that somebody pauses, as the dashboards of BullMQ can', () => {
  test('keeps what comes meanwhile, once a key, and all of it is run afterwards', async () => {
    harness.startWorker();
    await anyone.pause();
    for (let at = 0; at < 3; at += 1) {
      await harness.queue.addEvents([event('a/web'), event('a/api')]);
      await harness.queue.addResync([event('a/web')]);
    }
    await anyone.add(JOB_NAME, { key: 'a/user' });
    await anyone.resume();
    await harness.untilIdle();
    const all = ['event a/api', 'event a/web', 'on-demand a/user', 'resync a/web'];
    expect([...(await runs())].sort()).toEqual(all);
  });
});

describe('whatever id and options somebody adds a job with (report 102)', () => {
  test.each([
    ['an id of odd characters', { jobId: 'ns1/web é \u0000 {x} %' }],
    ['de-duplication by an id of its own', { deduplication: { id: 'mine' } }],
    ['attempts, and a backoff of its own', { attempts: 1, backoff: { type: 'fixed', delay: 1 } }],
    ['a priority', { priority: 2_000_000 }],
    ['last in, first out', { lifo: true }],
    ['a delay', { delay: 100 }],
    ['the time of a clock that is wrong', { timestamp: 1 }],
    ['keeping it when it is done', { removeOnComplete: false, removeOnFail: false }],
  ])('%s: it runs, fails, and runs again', async (_what, options) => {
    await harness.plan('ns1/web', { end: { laterMs: 10 } });
    harness.startWorker();
    await anyone.add(JOB_NAME, { key: 'ns1/web' }, options);
    await harness.untilSeen('ns1/web', 'end', 2);
    await harness.queue.addEvents([event('ns1/web')]);
    await harness.untilSeen('ns1/web', 'end', 3);
    await harness.untilIdle();
  });
});
