import { describe, expect, it } from '@jest/globals';
import { giveWay } from '../../../functions/give-way.ts';

const running = new AbortController().signal;

describe('a probe of a linked cluster', () => {
  it('begins at once beside a few runs of Service keys', async () => {
    let looks = 0;
    await giveWay({ runs: () => (looks++, 7), monotonicMs: () => 0 }, running);
    expect(looks).toBe(1);
  });

  it('waits until a burst of Service keys is over', async () => {
    const counts = [64, 64, 8, 7];
    const seen: number[] = [];
    const runs = (): number => {
      const now = counts.shift() ?? 0;
      seen.push(now);
      return now;
    };
    await giveWay({ runs, monotonicMs: () => 0 }, running);
    expect(seen).toEqual([64, 64, 8, 7]);
  });

  it('waits no longer than three seconds', async () => {
    let ms = 0;
    const monotonicMs = (): number => (ms += 1_000);
    await giveWay({ runs: () => 64, monotonicMs }, running);
    expect(ms).toBe(4_000);
  });

  it('waits no longer than its worker works', async () => {
    await giveWay({ runs: () => 64, monotonicMs: () => 0 }, AbortSignal.abort());
  });
});
