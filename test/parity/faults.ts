import type { PlanInput, PlannedWrite, SlicePlan } from '../../functions/plan/types.ts';
import type { Planner } from './explore.ts';

type Fault = (planner: Planner, input: PlanInput) => SlicePlan;

/**
 * Planners that are wrong in one rule each. The comparison must notice every one of them, or its
 * silence about the real planner would prove little.
 */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'calls terminating workloads ready': (planner, input) =>
    planner({ ...input, workloads: input.workloads.map((w) => ({ ...w, deleting: false })) }),
  'forgets publishNotReadyAddresses': (planner, input) =>
    planner(withService(input, { publishNotReady: false })),
  'forgets hints': (planner, input) => planner(withService(input, { zoneHints: false })),
  'puts one endpoint too few into a slice': (planner, input) =>
    planner(withMaximum(input, Math.max(1, input.options.maxEndpointsPerSlice - 1))),
  'puts one endpoint too many into a slice': (planner, input) =>
    planner(withMaximum(input, input.options.maxEndpointsPerSlice + 1)),
  'leaves labels alone': (planner, input) => planner(withService(input, { labels: {} })),
  'takes any number for a declared port': (planner, input) =>
    planner({ ...input, options: { ...input.options, undeclaredPorts: 'allow' } }),
  'ignores protocols': (planner, input) =>
    planner({
      ...input,
      workloads: input.workloads.map((w) => ({
        ...w,
        ports: w.ports.map((p) => ({ ...p, protocol: 'TCP' as const })),
      })),
    }),
  'takes the last of two ports of one name': (planner, input) =>
    planner({
      ...input,
      workloads: input.workloads.map((w) => ({ ...w, ports: [...w.ports].reverse() })),
    }),
  'adopts slices of an older Service': (planner, input) =>
    planner({
      ...input,
      slices: input.slices.map((slice) => ({
        ...slice,
        owners: slice.owners.map((owner) => ({ ...owner, uid: input.service?.uid ?? '' })),
      })),
    }),
  'starts every slice anew': (planner, input) => {
    const plan = planner(input);
    return { ...plan, writes: plan.writes.flatMap(recreate) };
  },
  'drops an endpoint': (planner, input) => {
    const plan = planner(input);
    return { ...plan, writes: plan.writes.map(shorten) };
  },
};

function withService(
  input: PlanInput,
  change: Partial<NonNullable<PlanInput['service']>>,
): PlanInput {
  return { ...input, service: input.service === null ? null : { ...input.service, ...change } };
}

function withMaximum(input: PlanInput, maxEndpointsPerSlice: number): PlanInput {
  return { ...input, options: { ...input.options, maxEndpointsPerSlice } };
}

/** Instead of an update of a slice: a new one, and the old one deleted. */
function recreate(write: PlannedWrite): PlannedWrite[] {
  if (write.verb !== 'update') return [write];
  const slice = { ...write.slice, name: `${write.slice.name}-new` };
  return [
    { verb: 'create', id: `${write.id}-create`, after: [], slice },
    { verb: 'delete', id: `${write.id}-delete`, after: [], previous: write.previous },
  ];
}

function shorten(write: PlannedWrite): PlannedWrite {
  if (write.verb !== 'update' || write.slice.endpoints.length < 2) return write;
  return { ...write, slice: { ...write.slice, endpoints: write.slice.endpoints.slice(1) } };
}
