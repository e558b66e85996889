import { describe, expect, it } from '@jest/globals';
import { askSeldom, watchStatus } from '../../cli/status-watch.ts';
import type { ClusterPart, StatusReport } from '../../cli/status-report.ts';

const part = (reason: string): ClusterPart => ({
  otherManagers: null,
  leftBehind: null,
  otherManagersError: reason,
});

describe('what the API server alone knows', () => {
  it('is asked for every half minute, and the look that does so does not wait for it', async () => {
    let now = 0;
    const asked: PromiseWithResolvers<ClusterPart>[] = [];
    const ask = (): Promise<ClusterPart> => {
      const next = Promise.withResolvers<ClusterPart>();
      asked.push(next);
      return next.promise;
    };
    const read = askSeldom(ask, () => now);
    const first = read([]);
    asked[0]?.resolve(part('one'));
    expect(await first).toEqual(part('one'));
    now = 29_999;
    expect(await read([])).toEqual(part('one'));
    expect(asked).toHaveLength(1);
    now = 30_000;
    expect(await read([])).toEqual(part('one'));
    expect(asked).toHaveLength(2);
    asked[1]?.resolve(part('two'));
    await asked[1]?.promise;
    expect(await read([])).toEqual(part('two'));
  });
});

describe('a watch', () => {
  const report = {} as StatusReport;

  it('tells of a look that fails, and goes on', async () => {
    const stop = new AbortController();
    const told: string[] = [];
    let looks = 0;
    await watchStatus({
      collect: async () => {
        looks += 1;
        if (looks === 2) throw new Error('Redis is away');
        return report;
      },
      show: () => {
        told.push('shown');
        if (looks === 3) stop.abort();
      },
      onTrouble: (reason) => void told.push(reason),
      signal: stop.signal,
    });
    expect(told).toEqual(['shown', 'Redis is away', 'shown']);
  });

  it('does not begin if the first look fails', async () => {
    const collect = async (): Promise<StatusReport> => {
      throw new Error('no such Redis');
    };
    const { signal } = new AbortController();
    const watching = watchStatus({
      collect,
      show: () => undefined,
      onTrouble: () => undefined,
      signal,
    });
    await expect(watching).rejects.toThrow('no such Redis');
  });
});
