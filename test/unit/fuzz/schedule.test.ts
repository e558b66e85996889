import { describe, expect, test } from '@jest/globals';
import { schedule } from '../../fuzz/schedule/generate.ts';
import { keyOf, type Action, type Phase } from '../../fuzz/schedule/steps.ts';

const PHASE_MS = 15_000;

function phasesOf(seed: number, count: number): Phase[] {
  return schedule(seed, PHASE_MS).take(count).toArray();
}

function actionsIn(phase: Phase): Action[] {
  return phase.steps.flatMap((step) => ('action' in step ? [step.action] : []));
}

function faultsIn(phase: Phase) {
  return phase.steps.flatMap((step) => ('fault' in step ? [step] : []));
}

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
const MANY = SEEDS.flatMap((seed) => phasesOf(seed, 12).slice(1));

describe('a schedule', () => {
  test('depends on its seed alone', () => {
    expect(phasesOf(7, 5)).toEqual(phasesOf(7, 5));
    expect(phasesOf(7, 2)).not.toEqual(phasesOf(8, 2));
  });

  test('of a shorter run is the beginning of a longer one', () => {
    expect(phasesOf(7, 6).slice(0, 3)).toEqual(phasesOf(7, 3));
  });

  test('begins by making every Service and every workload, without a fault', () => {
    const [first] = phasesOf(3, 1);
    const actions = first === undefined ? [] : actionsIn(first);
    expect(new Set(actions.map((action) => action.do))).toEqual(
      new Set(['create service', 'create workload']),
    );
    expect(actions.length).toBe(first?.steps.length);
  });

  test('has its steps in the order of time, within the phase', () => {
    for (const { steps, lengthMs } of MANY) {
      const times = steps.map(({ at }) => at);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      const ends = steps.map((step) => step.at + ('forMs' in step ? step.forMs : 0));
      expect(Math.max(...ends)).toBeLessThanOrEqual(lengthMs);
    }
  });

  test('never has two faults of one process, of Redis or of the API server at once', () => {
    for (const phase of MANY) {
      const faults = faultsIn(phase).map(({ at, forMs, fault }) => {
        const [server = ''] = /^(redis|api)/.exec(fault.fault) ?? [fault.fault];
        return { of: 'member' in fault ? fault.member : server, from: at, to: at + forMs };
      });
      const together = faults.flatMap((one, nth) =>
        faults.slice(nth + 1).filter(({ of, from }) => of === one.of && from < one.to),
      );
      expect(together).toEqual([]);
    }
  });

  test('comes to every kind of change and of fault', () => {
    const actions = MANY.flatMap(actionsIn);
    expect(new Set(actions.map((action) => action.do)).size).toBe(9);
    const damages = actions.flatMap((action) => (action.do === 'damage' ? [action.how] : []));
    expect(new Set(damages).size).toBe(13);
    expect(new Set(MANY.flatMap(faultsIn).map(({ fault }) => fault.fault)).size).toBe(18);
  });

  test('leaves enough alone for endpoints to be watched throughout', () => {
    for (const phase of MANY) {
      const disturbed = actionsIn(phase).filter(({ do: what }) => /delete|damage|say/.test(what));
      const keys = new Set(disturbed.map(({ target }) => keyOf(target)));
      // Of 12 Services and 56 workloads.
      expect(keys.size).toBeLessThan(40);
    }
  });
});
