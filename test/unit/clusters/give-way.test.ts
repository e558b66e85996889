import { describe, expect, it } from '@jest/globals';
import { giveWay } from '../../../platform/process/give-way.ts';

const running = new AbortController().signal;
const longestMs = 3_000;

describe('what linked clusters take', () => {
  it('begins at once beside a few runs of Service keys', async () => {
    let looks = 0;
    const over = await giveWay(
      { load: () => (looks++, 7), monotonicMs: () => 0, longestMs },
      running,
    );
    expect([over, looks]).toEqual([true, 1]);
  });

  it('waits until a burst of Service keys is over', async () => {
    const counts = [64, 64, 8, 7];
    const seen: number[] = [];
    const load = (): number => {
      const now = counts.shift() ?? 0;
      seen.push(now);
      return now;
    };
    expect(await giveWay({ load, monotonicMs: () => 0, longestMs }, running)).toBe(true);
    expect(seen).toEqual([64, 64, 8, 7]);
  });

  it('waits no longer than it is told to, and says so', async () => {
    let ms = 0;
    const monotonicMs = (): number => (ms += 100);
    expect(await giveWay({ load: () => 64, monotonicMs, longestMs: 500 }, running)).toBe(false);
    expect(ms).toBe(600);
  });

  it('begins where nobody can say how many there are', async () => {
    const load = () => Promise.reject(new Error('Redis is away'));
    expect(await giveWay({ load, monotonicMs: () => 0, longestMs }, running)).toBe(true);
  });

  it('waits no longer than its worker works', async () => {
    const ended = AbortSignal.abort();
    expect(await giveWay({ load: () => 64, monotonicMs: () => 0, longestMs }, ended)).toBe(false);
  });
});
