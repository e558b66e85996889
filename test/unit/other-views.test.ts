import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import { followOtherViews } from '../../watcher/other-views.ts';
import { eventually } from '../support/eventually.ts';

const OWN = 'v2 cluster';
const OTHER = 'v1 cluster';
const SOON = 2;
const NEVER = 3_600_000;

/** What living watchers feed, as the test has it. */
let fed: () => string[];
let looks: number;
let told: string[][];
let fails: boolean;
let ending: AbortController;
let following: Promise<void>;
beforeEach(() => {
  [fed, looks, told, fails] = [() => [OWN, OTHER], 0, [], false];
  ending = new AbortController();
});
afterEach(async () => {
  ending.abort();
  await following;
});

function follow(settleMs = SOON): void {
  following = followOtherViews({
    own: OWN,
    fed: () => {
      looks += 1;
      return Promise.resolve(fed());
    },
    everyMs: SOON,
    settleMs,
    onGone: (views) => {
      told.push([...views]);
      return fails ? Promise.reject(new Error('Redis is away')) : Promise.resolve();
    },
    log: silentLogger,
    signal: ending.signal,
  });
}

const anotherLook = async (): Promise<void> => {
  const before = looks;
  await eventually(() => expect(looks).toBeGreaterThan(before + 1));
};

describe('another view', () => {
  it('is told of once when nobody feeds it any more', async () => {
    follow();
    await anotherLook();
    expect(told).toEqual([]);
    fed = () => [OWN];
    await eventually(() => expect(told).toEqual([[OTHER]]));
    await anotherLook();
    expect(told).toEqual([[OTHER]]);
  });

  it('is told of again until what is to be done about it was done', async () => {
    follow();
    await anotherLook();
    fails = true;
    fed = () => [OWN];
    await eventually(() => expect(told.length).toBeGreaterThan(1));
    fails = false;
    await anotherLook();
    const done = told.length;
    await anotherLook();
    expect(told).toHaveLength(done);
  });

  it('is not told of before its marks have run out for certain', async () => {
    follow(NEVER);
    await anotherLook();
    fed = () => [OWN];
    const before = looks;
    await eventually(() => expect(looks).toBeGreaterThan(before));
    expect(told).toEqual([]);
  });
});

it('that our own is gone is no news: this watcher feeds it', async () => {
  follow();
  await anotherLook();
  fed = () => [OTHER];
  await anotherLook();
  expect(told).toEqual([]);
});
