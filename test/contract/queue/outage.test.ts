import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { UnreachableError } from '../../../core/errors.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { eventually } from '../../support/eventually.ts';
import { event, openHarness, type QueueHarness } from '../../support/queue-harness.ts';
import { observed } from '../../support/queue-scripted-handle.ts';

let dir: string;
let server: PrivateRedis;
let harness: QueueHarness;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tether-queue-'));
  server = await startPrivateRedis({ dir, appendOnly: true });
  harness = await openHarness(server.url);
});
afterEach(async () => {
  process.kill(server.pid, 'SIGCONT');
  await harness.close();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

/** About 1 s; BullMQ's own reconnection tries 18 s after the beginning, that is 6 s too late. */
const SOON_MS = 4000;

const keys = Array.from({ length: 40 }, (_, i) => `a/web-${i}`);

/** Dirties all keys, as a watcher does: it remembers what it could not deliver, and tries again. */
async function dirtyAll(version: number): Promise<void> {
  await harness.redis.hset(
    observed.wanted(harness.prefix),
    ...keys.flatMap((key) => [key, version]),
  );
  await eventually(() => harness.queue.addEvents(keys.map((key) => event(key))));
}

async function untilAllDone(version: number, timeoutMs: number): Promise<void> {
  await eventually(
    async () => {
      const done = await harness.redis.hvals(observed.done(harness.prefix));
      expect(done).toEqual(keys.map(() => String(version)));
    },
    { timeoutMs },
  );
}

describe('guarantee 5: nothing is lost while Redis is away', () => {
  test('a killed Redis with an append-only file: all comes back, and work goes on soon', async () => {
    await harness.spawnWorker({ failureRate: 0.1 });
    harness.startWorker({ failureRate: 0.1 });
    await dirtyAll(1);
    await harness.untilSeen('a/web-0', 'start', 1);
    await server.kill();
    const deliver = dirtyAll(2);
    server = await startPrivateRedis({
      dir,
      appendOnly: true,
      port: server.port,
      password: server.password,
    });
    const backAt = performance.now();
    await deliver;
    await harness.queue.addOnDemand({ namespace: 'a', name: 'user' }, 'test');
    await harness.untilSeen('a/user', 'end', 1);
    expect(performance.now() - backAt).toBeLessThan(SOON_MS);
    await untilAllDone(2, 30_000);
    await harness.untilIdle();
    expect(await harness.queue.failedJobs(10)).toEqual([]);
  });

  test('a Redis away for 12 s: adds fail at once, and what waited goes on soon after', async () => {
    const consumer = harness.startWorker();
    await harness.plan('a/held', { hold: true });
    await harness.queue.addEvents([event('a/held')]);
    await harness.untilSeen('a/held', 'start', 1);
    await harness.release('a/held');
    await server.kill();
    await eventually(() => expect(consumer.health().connected).toBe(false));
    const began = performance.now();
    await expect(harness.queue.addEvents([event('a/web')])).rejects.toThrow(UnreachableError);
    expect(performance.now() - began).toBeLessThan(200);
    await eventually(() => expect(performance.now() - began).toBeGreaterThan(12_000));
    server = await startPrivateRedis({
      dir,
      appendOnly: true,
      port: server.port,
      password: server.password,
    });
    const backAt = performance.now();
    await eventually(() => harness.queue.addEvents([event('a/web')]));
    await harness.untilSeen('a/web', 'end', 1);
    expect(performance.now() - backAt).toBeLessThan(SOON_MS);
    await harness.untilIdle();
  });

  test('a frozen Redis: adds fail after 2 s, and everything runs once it thaws', async () => {
    await harness.spawnWorker();
    harness.startWorker();
    await dirtyAll(1);
    process.kill(server.pid, 'SIGSTOP');
    const began = performance.now();
    await expect(harness.queue.addEvents([event('a/web')])).rejects.toThrow(UnreachableError);
    expect(performance.now() - began).toBeLessThan(4000);
    await eventually(() => expect(performance.now() - began).toBeGreaterThan(7000));
    process.kill(server.pid, 'SIGCONT');
    await dirtyAll(2);
    await untilAllDone(2, 30_000);
    await harness.untilIdle();
    expect(await harness.queue.failedJobs(10)).toEqual([]);
  });

  test('a full Redis: adds fail, and all goes on once there is room', async () => {
    harness.startWorker();
    await dirtyAll(1);
    await harness.redis.config('SET', 'maxmemory', '1mb');
    await expect(harness.queue.addEvents([event('a/web')])).rejects.toThrow(UnreachableError);
    // Long enough for the jobs that cannot be ended to lose their locks.
    const full = performance.now();
    await eventually(() => expect(performance.now() - full).toBeGreaterThan(3000));
    await harness.redis.config('SET', 'maxmemory', '0');
    await dirtyAll(2);
    await untilAllDone(2, 30_000);
    await harness.untilIdle();
    expect(await harness.queue.failedJobs(10)).toEqual([]);
  });

  test('a worker that drains meanwhile ends all the same', async () => {
    const consumer = harness.startWorker();
    await harness.plan('a/held', { hold: true });
    await harness.queue.addEvents([event('a/held')]);
    await harness.untilSeen('a/held', 'start', 1);
    await server.kill();
    await eventually(() => expect(consumer.health().connected).toBe(false));
    const began = performance.now();
    expect(await consumer.drain(100)).toEqual({ unfinished: 1 });
    expect(performance.now() - began).toBeLessThan(6000);
    server = await startPrivateRedis({
      dir,
      appendOnly: true,
      port: server.port,
      password: server.password,
    });
    harness.startWorker();
    await harness.release('a/held');
    await harness.untilSeen('a/held', 'end', 1);
  });
});
