import { describe, expect, it } from '@jest/globals';
import { median, percentile, spread } from '../../../bench/statistics.ts';

const HUNDRED = Array.from({ length: 100 }, (_, at) => 100 - at);

describe('percentile', () => {
  it('gives a value that was measured, however the values are ordered', () => {
    expect(percentile(HUNDRED, 0.5)).toBe(50);
    expect(percentile(HUNDRED, 0.99)).toBe(99);
    expect(percentile(HUNDRED, 1)).toBe(100);
    expect(percentile(HUNDRED, 0)).toBe(1);
    expect(percentile([7], 0.99)).toBe(7);
  });

  it('is NaN of nothing', () => {
    expect(percentile([], 0.5)).toBeNaN();
  });

  it('leaves its input in order', () => {
    const values = [3, 1, 2];
    percentile(values, 0.5);
    expect(values).toEqual([3, 1, 2]);
  });
});

it('takes the middle of an even number of values between the two', () => {
  expect(median([4, 1, 3])).toBe(3);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([])).toBeNaN();
});

it('spreads over the runs that have the figure', () => {
  expect(spread([5, undefined, 1, NaN, 2])).toEqual({ median: 2, min: 1, max: 5 });
  expect(spread([undefined, NaN])).toBeUndefined();
});
