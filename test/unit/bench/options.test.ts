import { describe, expect, it } from '@jest/globals';
import { LINKED_SCENARIOS, parseOptions, UsageError } from '../../../bench/options.ts';
import { casesFor } from '../../../bench/scenarios/growth.ts';

const LOCAL: string[] = ['ceiling', 'cold', 'churn', 'one-service', 'resync', 'apart', 'death'];

describe('the command line', () => {
  it('runs all but growth, three times, unless told otherwise', () => {
    expect(parseOptions([])).toMatchObject({
      scenarios: LOCAL.concat(LINKED_SCENARIOS),
      runs: 3,
      quick: false,
    });
    expect(parseOptions(['--quick'])).toMatchObject({ runs: 1, quick: true });
  });

  it('keeps the order of the scenarios: the ceiling is needed by what follows', () => {
    expect(parseOptions(['--scenario', 'cold,ceiling'])).toMatchObject({
      scenarios: ['ceiling', 'cold'],
    });
  });

  it('takes all about linked clusters by one name', () => {
    expect(parseOptions(['--scenario', 'rotation,clusters,cold'])).toMatchObject({
      scenarios: ['cold', ...LINKED_SCENARIOS],
    });
  });

  it.each([
    [['--scenario', 'warm'], '--scenario warm: there is ceiling'],
    [['--profile', 'idle'], '--profile idle: there is cold, churn'],
    [['--runs', '0'], '--runs 0: a whole number from 1 on is needed'],
    [['--services', '10,x'], '--services x: a whole number'],
    [['--fast'], "Unknown option '--fast'"],
  ])('refuses %j', (args, message) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(message);
  });
});

describe('the cases of growth', () => {
  it('vary one thing a group', () => {
    const cases = casesFor({ services: undefined, per: undefined, quick: false });
    expect(new Set(cases.map(({ group }) => group))).toEqual(
      new Set([
        'size',
        'workloads of one Service',
        'namespaces',
        'flips a second',
        'watchers',
        'workers',
      ]),
    );
    const sizes = cases.filter(({ group }) => group === 'size');
    expect(sizes.map(({ services }) => services)).toEqual([1000, 5000, 20_000]);
    expect(sizes.every(({ per, watchers, workers }) => per === 5 && watchers + workers === 2)).toBe(
      true,
    );
  });

  it('are the sizes alone that somebody names', () => {
    const cases = casesFor({ services: [10, 20], per: 3, quick: false });
    expect(cases.map(({ services, per }) => [services, per])).toEqual([
      [10, 3],
      [20, 3],
    ]);
  });
});
