import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import { NewHistory } from '../../watcher/new-history.ts';

/** A view that is being filled, as its watcher sees it. */
const said: string[] = [];
let redisIsAway = false;
let history: NewHistory;

beforeEach(() => {
  jest.useFakeTimers();
  said.length = 0;
  redisIsAway = false;
  history = new NewHistory({
    hold: () => said.push('hold'),
    goOn: () => said.push('go on'),
    trustedMs: 13_000,
    keys: () => Promise.resolve([{ namespace: 'shop', name: 'web' }]),
    queue: {
      addResync: (adds) => {
        if (redisIsAway) return Promise.reject(new Error('Redis is away'));
        said.push(`enqueue ${adds.map(({ key }) => key.name).join()}`);
        return Promise.resolve();
      },
    },
    now: () => 0,
    log: { ...silentLogger, warn: () => void said.push('error') },
  });
});
afterEach(() => {
  history.stop();
  jest.useRealTimers();
});

describe('a view of a new history', () => {
  test('holds keys back until it is in sync, and looks at all once more after that', async () => {
    history.begin();
    expect(history.holds).toBe(true);
    history.opened();
    expect(history.holds).toBe(false);
    expect(said).toEqual(['hold']);
    await jest.advanceTimersByTimeAsync(13_000);
    expect(said).toEqual(['hold', 'enqueue web']);
  });

  test('holds keys back for ten seconds at most, however long a kind cannot be listed', async () => {
    history.begin();
    await jest.advanceTimersByTimeAsync(9_999);
    expect(said).toEqual(['hold']);
    await jest.advanceTimersByTimeAsync(1);
    expect(said).toEqual(['hold', 'go on']);
    expect(history.holds).toBe(false);
    history.opened();
    await jest.advanceTimersByTimeAsync(13_000);
    expect(said).toEqual(['hold', 'go on', 'enqueue web']);
  });

  test('looks at all once more when Redis is back', async () => {
    history.begin();
    history.opened();
    redisIsAway = true;
    await jest.advanceTimersByTimeAsync(14_000);
    expect(said).toContain('error');
    redisIsAway = false;
    await jest.advanceTimersByTimeAsync(30_000);
    expect(said.filter((what) => what.startsWith('enqueue'))).toEqual(['enqueue web']);
  });

  test('leaves no timer behind when it is stopped', () => {
    history.begin();
    history.stop();
    expect(jest.getTimerCount()).toBe(0);
  });
});
