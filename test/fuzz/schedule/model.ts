import type { Random } from '../../parity/random.ts';
import { keyOf, type Target } from './steps.ts';

/** What the schedule has made of a Service so far, as far as later steps depend on it. */
export interface ServiceModel {
  readonly target: Target;
  exists: boolean;
  type: 'ClusterIP' | 'headless' | 'ExternalName';
}

export interface WorkloadModel {
  readonly target: Target;
  /** Its own addresses; the number makes them. */
  readonly number: number;
  exists: boolean;
  /** Held by a finalizer, so that a deletion leaves it terminating. */
  held: boolean;
  leaving: boolean;
}

/** The world as a schedule knows it: all that its next step may depend on, besides chance. */
export interface Model {
  readonly random: Random;
  readonly services: readonly ServiceModel[];
  readonly workloads: readonly WorkloadModel[];
  /** Keys of what this phase only changes in ways that take no endpoint away. */
  calm: ReadonlySet<string>;
}

export const NAMESPACES = ['fuzz-a', 'fuzz-b', 'fuzz-c', 'fuzz-d'] as const;
export const APPS = ['red', 'green'] as const;
export const TIERS = ['front', 'back'] as const;
/** As long as a name may be: slices are called after it. */
const LONGEST = 'svc-'.repeat(15) + 'end';
const SERVICES = ['web', 'api', LONGEST];
const WORKLOADS_EACH = 14;

export function newModel(random: Random): Model {
  return {
    random,
    services: NAMESPACES.flatMap((namespace) =>
      SERVICES.map((name) => ({
        target: { namespace, name },
        exists: false,
        type: 'ClusterIP' as const,
      })),
    ),
    workloads: NAMESPACES.flatMap((namespace, at) =>
      Array.from({ length: WORKLOADS_EACH }, (_, nth) => ({
        target: { namespace, name: workloadName(nth) },
        number: at * WORKLOADS_EACH + nth + 1,
        exists: false,
        held: false,
        leaving: false,
      })),
    ),
    calm: new Set(),
  };
}

/** The last one's is no DNS label: a headless Service gives it no hostname. */
function workloadName(nth: number): string {
  return nth === WORKLOADS_EACH - 1 ? `vm.dotted-${nth}` : `vm-${nth}`;
}

/** Much of what there is stays calm until the next quiet point. */
export function chooseCalm(model: Model): void {
  const services = model.services.filter(({ exists, type }) => exists && type !== 'ExternalName');
  const workloads = model.workloads.filter(({ exists }) => exists);
  const { random } = model;
  const calm = [...random.some(services, 0.5), ...random.some(workloads, 0.7)];
  model.calm = new Set(calm.map(({ target }) => keyOf(target)));
}

export function isCalm(model: Model, { target }: { readonly target: Target }): boolean {
  return model.calm.has(keyOf(target));
}

/** One of these by weight. */
export function pickWeighted<T>(random: Random, choices: readonly (readonly [number, T])[]): T {
  let left = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, value] of choices) {
    left -= weight;
    if (left < 0) return value;
  }
  return random.pick(choices)[1];
}

/** As an object is created: a merge patch says null for what is to be absent. */
export function withoutNulls(map: object): object {
  return Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null));
}
