import { Random } from '../../parity/random.ts';
import { faultsOf } from './faults.ts';
import { chooseCalm, isCalm, NAMESPACES, newModel, type Model } from './model.ts';
import { create, damage, nextOfService } from './services.ts';
import type { Action, Phase, Step, Target } from './steps.ts';
import { bringIn, nextOfWorkload } from './workloads.ts';

/** Between two changes at most, ms; now and then many come at once. */
const PACE_MS = 110;
/** Before the end of a phase it gets calm for so long, so that its last changes stand alone. */
const CODA_MS = 1_500;
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
    const changes = [...changesOf(model, lengthMs - CODA_MS), ...codaOf(model, lengthMs)];
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

/**
 * The last changes of a phase. What one of them should have led to and did not would be covered up by
 * the next one for the same Services: so in each namespace it is one workload, or each Service once, or damage by hand.
 */
function codaOf(model: Model, lengthMs: number): Step[] {
  const { random } = model;
  const actions = NAMESPACES.flatMap((namespace) => {
    const services = of(namespace, model.services);
    const workloads = of(namespace, model.workloads);
    const wild = workloads.filter((workload) => !isCalm(model, workload));
    const what = random.pick(['workload', 'services', 'damage']);
    if (what === 'workload' && wild.length > 0) return nextOfWorkload(model, random.pick(wild));
    if (what === 'services') return services.flatMap((service) => nextOfService(model, service));
    return services.filter((service) => !isCalm(model, service)).map((one) => damage(model, one));
  });
  return actions.map((action, nth) => ({ at: lengthMs - 300 + nth * 10, action }));
}

function of<T extends { readonly target: Target }>(namespace: string, all: readonly T[]): T[] {
  return all.filter(({ target }) => target.namespace === namespace);
}

function next(model: Model): Action[] {
  const { random, services, workloads } = model;
  if (random.chance(0.3)) return nextOfService(model, random.pick(services));
  return nextOfWorkload(model, random.pick(workloads));
}
