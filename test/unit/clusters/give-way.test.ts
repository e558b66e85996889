import { describe, expect, it } from '@jest/globals';
import { giveWay } from '../../../platform/process/give-way.ts';

const running = new AbortController().signal;

describe('what linked clusters take', () => {
  it('begins at once beside a few runs of Service keys', async () => {
    let looks = 0;
    await giveWay({ load: () => (looks++, 7), monotonicMs: () => 0 }, running);
    expect(looks).toBe(1);
  });

  it('waits until a burst of Service keys is over', async () => {
    const counts = [64, 64, 8, 7];
    const seen: number[] = [];
    const load = (): number => {
      const now = counts.shift() ?? 0;
      seen.push(now);
      return now;
    };
    await giveWay({ load, monotonicMs: () => 0 }, running);
    expect(seen).toEqual([64, 64, 8, 7]);
  });

  it('waits no longer than three seconds', async () => {
    let ms = 0;
    const monotonicMs = (): number => (ms += 1_000);
    await giveWay({ load: () => 64, monotonicMs }, running);
    expect(ms).toBe(4_000);
  });

  it('or as long as it is told to', async () => {
    let ms = 0;
    const monotonicMs = (): number => (ms += 100);
    await giveWay({ load: () => 64, monotonicMs, longestMs: 500 }, running);
    expect(ms).toBe(600);
  });

  it('begins where nobody can say how many there are', async () => {
    const load = () => Promise.reject(new Error('Redis is away'));
    await giveWay({ load, monotonicMs: () => 0 }, running);
  });

  it('waits no longer than its worker works', async () => {
    await giveWay({ load: () => 64, monotonicMs: () => 0 }, AbortSignal.abort());
  });
});
