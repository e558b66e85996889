import { Random } from '../../parity/random.ts';
import { faultsOf } from './faults.ts';
import { chooseCalm, newModel, type Model } from './model.ts';
import { create, nextOfService } from './services.ts';
import type { Action, Phase, Step } from './steps.ts';
import { bringIn, nextOfWorkload } from './workloads.ts';

/** Between two changes at most, ms; now and then many come at once. */
const PACE_MS = 110;
/** The last changes of a phase: nothing comes after them that would cover up what they led to. */
const CODA = { ms: 800, paceMs: 30, workloads: 4, share: 0.7 } as const;
const BURST = { chance: 0.06, most: 15 } as const;

/**
 * The schedule of a seed, phase after phase without end. The first one only makes the world. It
 * depends on the two arguments alone: not on a clock, and not on what comes of its steps.
 */
export function* schedule(seed: number, quietEveryMs: number): Generator<Phase, never> {
  const random = new Random(seed);
  const model = newModel(random);
  yield { index: 0, lengthMs: 0, steps: build(model) };
  for (let index = 1; ; index += 1) {
    const lengthMs = Math.round(quietEveryMs * (0.8 + 0.4 * random.next()));
    chooseCalm(model);
    const changes = [...changesOf(model, lengthMs - CODA.ms), ...codaOf(model, lengthMs)];
    const steps: Step[] = [...changes, ...faultsOf(random, lengthMs)];
    // Stable: what was drawn first comes first at the same moment.
    yield { index, lengthMs, steps: steps.sort((a, b) => a.at - b.at) };
  }
}

function build(model: Model): Step[] {
  const actions = [
    ...model.services.map((service) => create(model, service)),
    ...model.workloads.map((workload) => bringIn(model, workload)),
  ];
  return actions.map((action) => ({ at: 0, action }));
}

function changesOf(model: Model, lengthMs: number): Step[] {
  const { random } = model;
  const steps: Step[] = [];
  for (let at = 0; at < lengthMs; at += random.int(5, PACE_MS)) {
    const times = random.chance(BURST.chance) ? random.int(5, BURST.most) : 1;
    for (let nth = 0; nth < times; nth += 1) {
      for (const action of next(model)) steps.push({ at, action });
    }
  }
  return steps;
}

function codaOf(model: Model, lengthMs: number): Step[] {
  const { random, services, workloads } = model;
  const begin = lengthMs - CODA.ms;
  const actions = [
    ...Array.from({ length: CODA.workloads }, () => nextOfWorkload(model, random.pick(workloads))),
    ...random.some(services, CODA.share).map((service) => nextOfService(model, service)),
  ];
  return actions.flat().map((action, nth) => ({ at: begin + nth * CODA.paceMs, action }));
}

function next(model: Model): Action[] {
  const { random, services, workloads } = model;
  if (random.chance(0.3)) return nextOfService(model, random.pick(services));
  return nextOfWorkload(model, random.pick(workloads));
}
