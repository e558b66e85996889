import type { WorkloadRecord } from '../../core/records.ts';
import type { Random } from './random.ts';
import {
  addWorkload,
  makeFamilies,
  makeIps,
  makeServiceLabels,
  makeServicePorts,
  makeWorkloadLabels,
  makeWorkloadPorts,
  type World,
} from './world.ts';

type Mutation = (random: Random, world: World) => World;

/** What happens to a Service and its workloads between two passes: nothing, one thing or several. */
export function mutateWorld(random: Random, world: World): World {
  const times = random.pick([0, 1, 1, 1, 2, 3, 5]);
  let next = world;
  for (let i = 0; i < times; i += 1) next = random.pick(MUTATIONS)(random, next);
  return next;
}

/** The same change to one workload, or to a few, or to all: drain, roll-out, a zone that fails. */
function workloads(
  change: (random: Random, workload: WorkloadRecord, world: World) => WorkloadRecord | null,
): Mutation {
  return (random, world) => {
    const share = random.pick([0, 0, 0.1, 0.5, 1]);
    const one = random.int(0, Math.max(0, world.workloads.length - 1));
    const changed = world.workloads.flatMap((workload, index) => {
      if (index !== one && !random.chance(share)) return [workload];
      const after = change(random, workload, world);
      return after === null ? [] : [after];
    });
    return { ...world, workloads: changed };
  };
}

function service(change: (random: Random, world: World) => Partial<World['service']>): Mutation {
  return (random, world) => ({ ...world, service: { ...world.service, ...change(random, world) } });
}

/** The number behind a uid or an address that is used for the first time. */
const fresh = (random: Random, world: World): number => world.serial + 1 + random.int(0, 5000);

const MUTATIONS: readonly Mutation[] = [
  workloads((random, workload) => ({ ...workload, ready: random.pick([true, false, null]) })),
  workloads((random, workload) => ({ ...workload, ready: !random.chance(0.5) })),
  workloads((_random, workload) => ({ ...workload, deleting: true })),
  workloads(() => null),
  workloads(() => null),
  workloads((random, workload) => ({ ...workload, labels: makeWorkloadLabels(random) })),
  workloads((random, workload, world) => ({
    ...workload,
    ips: makeIps(random, fresh(random, world)),
  })),
  workloads((random, workload, world) => ({
    ...workload,
    ports: makeWorkloadPorts(random, world),
  })),
  // Deleted and made anew under its old name.
  workloads((random, workload, world) => ({ ...workload, uid: `again-${fresh(random, world)}` })),
  (random, world) => {
    let next = world;
    const more = random.pick([1, 1, 2, 5, world.options.maxEndpointsPerSlice]);
    for (let i = 0; i < more; i += 1) next = addWorkload(random, next);
    return next;
  },
  (random, world) => addWorkload(random, addWorkload(random, world)),
  service((random) => ({ labels: makeServiceLabels(random) })),
  service((random) => ({ publishNotReady: random.chance(0.5) })),
  service((random) => ({ zoneHints: random.chance(0.5) })),
  service((random) => ({ ipFamilies: makeFamilies(random) })),
  service((random, world) =>
    // Only a headless Service may be without ports.
    world.service.ports.length === 0 ? {} : { ports: makeServicePorts(random) },
  ),
  service((random, world) =>
    random.chance(0.2) ? { uid: `service-${fresh(random, world)}` } : {},
  ),
  service((random) => (random.chance(0.2) ? { deleting: true } : {})),
  service((random, world) =>
    random.chance(0.3) && world.service.clusterIP !== 'None'
      ? { clusterIP: world.service.clusterIP === '' ? '10.96.0.10' : '' }
      : {},
  ),
  (random, world) => ({
    ...world,
    options: {
      ...world.options,
      maxEndpointsPerSlice: random.chance(0.3)
        ? random.int(1, 20)
        : world.options.maxEndpointsPerSlice,
    },
  }),
];
