import type { EndpointRecord } from '../../../../core/records.ts';
import type { DesiredSlice, PlannedWrite, SlicePlan } from '../../../../functions/plan/types.ts';

/** Short ways to say what a plan does. */
export function counts({ writes }: SlicePlan): Record<PlannedWrite['verb'], number> {
  const count = { create: 0, update: 0, delete: 0 };
  for (const { verb } of writes) count[verb] += 1;
  return count;
}

/** The slices that are created or updated, in the plan's order. */
export function written({ writes }: SlicePlan): DesiredSlice[] {
  return writes.flatMap((write) => (write.verb === 'delete' ? [] : write.slice));
}

/** Sizes of the slices written, largest first. */
export function sizes(plan: SlicePlan): number[] {
  return written(plan)
    .map((slice) => slice.endpoints.length)
    .sort((a, b) => b - a);
}

export function endpoints(plan: SlicePlan): EndpointRecord[] {
  return written(plan).flatMap((slice) => slice.endpoints);
}

export function addresses(plan: SlicePlan): string[] {
  return endpoints(plan).flatMap((endpoint) => endpoint.addresses);
}

export function ids({ writes }: SlicePlan): string[] {
  return writes.map((write) => write.id);
}

export function reasons({ leftOut }: SlicePlan): string[] {
  return leftOut.map(({ workload, reason }) => `${workload}: ${reason}`);
}

/** The only write of a plan. */
export function onlyWrite({ writes }: SlicePlan): PlannedWrite {
  const [write] = writes;
  if (write === undefined || writes.length > 1) {
    throw new Error(`expected one write, got ${writes.map(({ id }) => id).join(', ') || 'none'}`);
  }
  return write;
}

export function onlySlice(plan: SlicePlan): DesiredSlice {
  const write = onlyWrite(plan);
  if (write.verb === 'delete') throw new Error(`expected a slice, got ${write.id}`);
  return write.slice;
}

export function onlyEndpoint(plan: SlicePlan): EndpointRecord {
  const [endpoint] = onlySlice(plan).endpoints;
  if (endpoint === undefined) throw new Error('the slice has no endpoints');
  return endpoint;
}
