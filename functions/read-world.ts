import type { SliceManagers } from '../core/managers.ts';
import type { ObjectKey } from '../core/object-key.ts';
import type { EndpointApi } from '../platform/kube/endpoint-api.ts';
import type { ServiceView, World } from '../platform/redis/view/service-view.ts';
import type { SlicePlan } from './plan/types.ts';

/**
 * Reads from the API server all that a Service's reconcile needs: three requests. Workloads are read
 * before slices, so that a plan never takes an endpoint for stray that a concurrent run just wrote.
 */
export async function readLive(
  api: EndpointApi,
  key: ObjectKey,
  managers: SliceManagers,
  signal: AbortSignal,
): Promise<World> {
  const service = await api.readService(key, signal);
  const workloads = await api.listWorkloads(key.namespace, service?.selector ?? {}, signal);
  const slices = await api.listSlices(key, managers, signal);
  return { service, serviceDeleted: service === null, workloads, slices };
}

/**
 * Whether a plan made from the view takes something for gone that the view merely does not know: a
 * hole in the view must never empty a slice (docs/view.md). Then the state is read live.
 */
export async function restsOnUnknownAbsence(
  view: ServiceView,
  key: ObjectKey,
  world: World,
  plan: SlicePlan,
): Promise<boolean> {
  if (world.service === null) return plan.writes.length > 0 && !world.serviceDeleted;
  if (plan.dropped.length === 0 || plan.noSlicesBecause !== null) return false;
  const seen = new Set(world.workloads.map((workload) => workload.uid));
  const absent = plan.dropped
    .filter(({ uid }) => !seen.has(uid))
    .map(({ name, uid }) => ({ kind: 'workload' as const, name, uid }));
  if (absent.length === 0) return false;
  const presence = await view.presence(key.namespace, absent);
  return presence.includes('unknown');
}
