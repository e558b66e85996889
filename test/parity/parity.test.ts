import { beforeAll, describe, expect, test } from '@jest/globals';
import { planSlices } from '../../functions/plan/plan-slices.ts';
import type { PlanInput } from '../../functions/plan/types.ts';
import { explore, judge, type Failure, type Planner } from './explore.ts';
import { minimise } from './minimise.ts';
import { FAULTS } from './faults.ts';
import { buildUpstream, runUpstream } from './upstream.ts';

const CASES = numberFrom('TETHER_PARITY_CASES', 1000);
const SEED = numberFrom('TETHER_SEED', 1);
/** Upstream builds in 2 minutes on two cores, once; a pass of both sides takes about 2 ms. */
const BUILD_MS = 900_000;
const RUN_MS = 60_000 + CASES * 200;

let program = '';
beforeAll(() => {
  program = buildUpstream();
}, BUILD_MS);

describe('parity with k8s.io/endpointslice', () => {
  test(
    `makes the same slices as upstream, in ${CASES} cases of seed ${SEED}`,
    () => {
      const { failures, passes, rules } = explore(planSlices, program, {
        seed: SEED,
        cases: CASES,
        enough: 1,
      });
      const [first] = failures;
      if (first !== undefined) throw new Error(describeFailure(planSlices, first));
      expect(passes).toBe(CASES * 4);
      // An exception that is met often would hide the rule.
      for (const rare of RARE) expect(rules.get(rare) ?? 0).toBeLessThan(Math.max(5, passes / 100));
      // Cases that never meet a listed difference would say nothing about it.
      if (CASES >= 1000) expect([...rules.keys()]).toEqual(expect.arrayContaining(LISTED));
    },
    RUN_MS,
  );
});

describe('the comparison', () => {
  test.each(Object.entries(FAULTS))(
    'notices a planner that %s',
    (_name, fault) => {
      const faulty: Planner = (input) => fault(planSlices, input);
      const { failures } = explore(faulty, program, { seed: SEED, cases: 250, enough: 1 });
      expect(failures.length).toBeGreaterThan(0);
    },
    RUN_MS,
  );
});

/** The rules of README.md that a run counts; the others are part of how cases are made or mapped. */
const LISTED = [
  'above-maximum',
  'deleting',
  'empty-slice',
  'headless-label',
  'hints-first',
  'no-swap',
  'placeholder',
  'stale-hints',
];
const RARE = ['no-swap', 'second-best'];

function describeFailure(planner: Planner, failure: Failure): string {
  const differencesOf = (input: PlanInput): readonly string[] => {
    const [outcome] = runUpstream(program, [input]);
    return outcome === undefined ? [] : judge(planner, input, outcome).verdict.differences;
  };
  const smallest = minimise(failure.input, (input) => differencesOf(input).length > 0);
  return [
    `seed ${SEED}, case ${failure.caseNumber}, pass ${failure.step}:`,
    ...failure.differences,
    'the smallest input that still differs:',
    JSON.stringify(smallest, null, 1),
    ...differencesOf(smallest),
    `again: TETHER_SEED=${SEED} TETHER_PARITY_CASES=${failure.caseNumber + 1}`,
  ].join('\n');
}

function numberFrom(variable: string, fallback: number): number {
  const text = process.env[variable] ?? '';
  return /^\d+$/.test(text) ? Number(text) : fallback;
}
