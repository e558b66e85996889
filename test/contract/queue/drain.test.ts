import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, overlapsIn, type QueueHarness } from '../../support/queue-harness.ts';

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

/** BullMQ names the connection on which a worker blocks after its queue. */
async function waitingConnections(): Promise<readonly string[]> {
  const clients = String(await harness.redis.client('LIST')).split('\n');
  return clients.filter((client) => client.includes(`name={${harness.prefix}}:`));
}

describe('a worker that drains', () => {
  test('lets runs end within the deadline, and takes no more jobs', async () => {
    const worker = await harness.spawnWorker({ drainMs: 20_000 });
    await harness.plan('a/web', { hold: true });
    await harness.queue.addEvents([event('a/web')]);
    await harness.untilSeen('a/web', 'start', 1);
    await eventually(async () => expect(await waitingConnections()).toHaveLength(1));
    const stopped = worker.child.stop(30_000);
    // The connection on which it waits for jobs goes first; then nothing can be taken any more.
    await eventually(async () => expect(await waitingConnections()).toEqual([]));
    await harness.queue.addEvents([event('a/other')]);
    await harness.release('a/web');
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(worker.output()).toContain('drained, 0 unfinished');
    expect((await harness.seen()).map(({ what, key }) => `${what} ${key}`)).toEqual([
      'start a/web',
      'end a/web',
    ]);
    expect(await harness.queue.counts()).toMatchObject({ active: 0, prioritized: 1 });
  });

  test.each(['event', 'on-demand'])(
    'aborts what does not end, and another worker takes the %s job at once',
    async (kind) => {
      const worker = await harness.spawnWorker({ drainMs: 200 });
      await harness.plan('a/web', { hold: true });
      if (kind === 'event') await harness.queue.addEvents([event('a/web')]);
      else await harness.queue.addOnDemand({ namespace: 'a', name: 'web' }, 'test');
      await harness.untilSeen('a/web', 'start', 1);
      await harness.spawnWorker();
      await worker.child.stop(30_000);
      expect(worker.output()).toContain('drained, 1 unfinished');
      const [aborted] = await harness.untilSeen('a/web', 'aborted', 1);
      const starts = await harness.untilSeen('a/web', 'start', 2);
      // A stalled job takes 1.5 s and longer.
      expect((starts[1]?.time ?? Infinity) - (aborted?.time ?? 0)).toBeLessThan(700);
      expect(starts[1]).toMatchObject({ class: kind });
      await harness.untilIdle();
    },
  );

  test('gives nobody the job of a function that ignores its signal, until the process has ended', async () => {
    const worker = await harness.spawnWorker({ drainMs: 100 });
    await harness.plan('a/web', { hold: true, deaf: true });
    await harness.queue.addEvents([event('a/web')]);
    await harness.untilSeen('a/web', 'start', 1);
    await harness.spawnWorker();
    const { code } = await worker.child.stop(30_000);
    expect(code).toBe(0);
    expect(worker.output()).toContain('drained, 1 unfinished');
    await worker.kill();
    await harness.untilSeen('a/web', 'end', 1);
    expect(overlapsIn(await harness.seen())).toEqual([]);
  });

  test('of 30 jobs loses none', async () => {
    const keys = Array.from({ length: 30 }, (_, i) => `a/web-${i}`);
    for (const key of keys) await harness.plan(key, { hold: true });
    const worker = await harness.spawnWorker({ drainMs: 50, concurrency: 30 });
    await harness.queue.addEvents(keys.map((key) => event(key)));
    await eventually(async () => expect(await harness.seen()).toHaveLength(30));
    await worker.child.stop(30_000);
    expect(worker.output()).toContain('drained, 30 unfinished');
    expect(await harness.queue.counts()).toMatchObject({ active: 0, prioritized: 30 });
  });
});
