import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { backoffMs } from '../../../core/backoff.ts';

const BOUNDS = { baseMs: 50, capMs: 60_000 };

test('follows the documented sequence up to the cap (report 98)', () => {
  const longest = Array.from({ length: 15 }, (_, n) =>
    backoffMs(n + 1, BOUNDS, () => 1 - 2 ** -32),
  );
  expect(longest).toEqual([
    50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000,
    60_000,
  ]);
  const shortest = [1, 2, 3].map((n) => backoffMs(n, BOUNDS, () => 0));
  expect(shortest).toEqual([25, 50, 100]);
});

test('is nothing where nothing failed', () => {
  expect([0, -1, Number.NaN].map((n) => backoffMs(n, BOUNDS, Math.random))).toEqual([0, 0, 0]);
});

test('never leaves the upper half of its step, nor passes the cap, however many the failures', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const step = Math.min(60_000, 50 * 2 ** (failures - 1));
        const delay = backoffMs(failures, BOUNDS, () => random);
        return delay >= step / 2 && delay <= step && delay <= 60_000;
      },
    ),
  );
});
