import type { ObjectKey } from '../core/object-key.ts';
import type { EndpointApi } from '../platform/kube/endpoint-api.ts';
import { planSlices } from './plan/plan-slices.ts';
import type { PlanOptions, SlicePlan } from './plan/types.ts';
import { readLive } from './read-world.ts';

/** The plan of a Service as it is now, read live; writes nothing and takes no lock. */
export async function dryRunService(
  key: ObjectKey,
  deps: { readonly api: EndpointApi; readonly plan: PlanOptions },
  signal: AbortSignal,
): Promise<SlicePlan> {
  const world = await readLive(deps.api, key, deps.plan, signal);
  return planSlices({
    key,
    service: world.service,
    workloads: world.workloads,
    slices: world.slices,
    takenNames: [],
    options: deps.plan,
  });
}
