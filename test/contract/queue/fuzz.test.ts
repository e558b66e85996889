import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parseKey } from '../../../core/object-key.ts';
import { event, openHarness, overlapsIn, type QueueHarness } from '../../support/queue-harness.ts';
import type { WorkerProcess } from '../../support/queue-harness.ts';
import { observed } from '../../support/queue-scripted-handle.ts';

/*
 * Two worker processes are killed again and again while 40 keys are dirtied in all three ways. In
 * the end every key must have had a run that began after its last change, and no two runs of one
 * class and key may have overlapped (across classes it is the key's lock that keeps them apart).
 *
 * TETHER_FUZZ_SEED repeats what a run did, as far as processes can be repeated; TETHER_FUZZ_SECONDS
 * makes it longer.
 */
const SEED = Number(process.env['TETHER_FUZZ_SEED'] ?? Date.now() % 1_000_000);
const SECONDS = Number(process.env['TETHER_FUZZ_SECONDS'] ?? 15);
const KEYS = Array.from({ length: 40 }, (_, i) => `fuzz/key-${i}`);
const KILL_EVERY_MS = 1200;

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

let harness: QueueHarness;
beforeEach(async () => {
  harness = await openHarness();
});
afterEach(() => harness.close());

async function dirty(random: () => number): Promise<void> {
  const key = KEYS[Math.floor(random() * KEYS.length)] ?? '';
  await harness.redis.hincrby(observed.wanted(harness.prefix), key, 1);
  const way = random();
  if (way < 0.9) await harness.queue.addEvents([event(key)]);
  else if (way < 0.95) await harness.queue.addResync([event(key)]);
  else await harness.queue.addOnDemand(parseKey(key), 'fuzz');
}

async function dirtyUntil(end: number, random: () => number): Promise<number> {
  let count = 0;
  for (; performance.now() < end; count++) {
    await dirty(random);
    await delay(random() * 8);
  }
  return count;
}

async function killUntil(end: number, random: () => number): Promise<number> {
  const options = { concurrency: 10, failureRate: 0.2 };
  const workers: WorkerProcess[] = [];
  for (let i = 0; i < 2; i++) workers.push(await harness.spawnWorker(options));
  let kills = 0;
  for (; performance.now() < end; kills++) {
    await delay(KILL_EVERY_MS * (0.5 + random()));
    const victim = Math.floor(random() * workers.length);
    await workers[victim]?.kill();
    workers[victim] = await harness.spawnWorker(options);
  }
  return kills;
}

describe('under random kills', () => {
  test(
    `no change is lost and no two runs of a key overlap (seed ${SEED}, ${SECONDS} s)`,
    async () => {
      const end = performance.now() + SECONDS * 1000;
      const [changes, kills] = await Promise.all([
        dirtyUntil(end, randomFrom(SEED)),
        killUntil(end, randomFrom(SEED + 1)),
      ]);
      await harness.untilIdle(60_000);
      const wanted = await harness.redis.hgetall(observed.wanted(harness.prefix));
      const done = await harness.redis.hgetall(observed.done(harness.prefix));
      const lost = Object.keys(wanted).filter((key) => done[key] !== wanted[key]);
      const seen = await harness.seen();
      process.stderr.write(
        `fuzz: seed ${SEED}, ${changes} changes, ${kills} kills, ${seen.length} lines, ` +
          `${lost.length} lost\n`,
      );
      expect(lost).toEqual([]);
      for (const kind of ['event', 'resync']) {
        const lines = seen.filter((line) => line.what === 'killed' || line.class === kind);
        expect(overlapsIn(lines)).toEqual([]);
      }
      expect(kills).toBeGreaterThan(0);
      expect(await harness.queue.failedJobs(10)).toEqual([]);
    },
    SECONDS * 1000 + 120_000,
  );
});
