import { LABEL_ZONE, WORKLOAD_KIND } from '../../core/names.ts';
import { isDnsLabel } from '../../core/object-key.ts';
import type { EndpointRecord, ServiceRecord, WorkloadRecord } from '../../core/records.ts';
import type { PlanOptions } from './types.ts';

/** The conditions of an endpoint, every one explicit: consumers read a missing `ready` as true. */
export interface Conditions {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

/**
 * Only the Ready condition says whether a workload serves, whoever writes it. A workload that is
 * being deleted keeps serving what it has but takes nothing new, unless the Service publishes
 * endpoints that are not ready.
 */
export function conditionsOf(
  service: ServiceRecord,
  workload: WorkloadRecord,
  withoutStatus: PlanOptions['workloadsWithoutStatus'],
): Conditions {
  const serving = workload.ready ?? withoutStatus === 'ready';
  const terminating = workload.deleting;
  const ready = (serving && !terminating) || service.publishNotReady;
  return CONDITIONS[Number(ready) * 4 + Number(serving) * 2 + Number(terminating)] ?? NOT_READY;
}

const NOT_READY: Conditions = Object.freeze({ ready: false, serving: false, terminating: false });

/** The eight there are, shared by all endpoints: a plan makes thousands of those. */
const CONDITIONS: readonly Conditions[] = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) =>
  Object.freeze({
    ready: (bits & 4) !== 0,
    serving: (bits & 2) !== 0,
    terminating: (bits & 1) !== 0,
  }),
);

/** Whether a workload of this Service is due a DNS name of its own: only a headless Service's is. */
export function wantsHostname(service: ServiceRecord): boolean {
  return service.clusterIP === 'None';
}

/** One endpoint of one family. `addresses` are canonical and not empty. */
export function buildEndpoint(
  namespace: string,
  service: ServiceRecord,
  workload: WorkloadRecord,
  addresses: readonly string[],
  conditions: Conditions,
): EndpointRecord {
  const { name, uid } = workload;
  const zone = workload.labels[LABEL_ZONE];
  const endpoint: Mutable<EndpointRecord> = {
    addresses,
    conditions,
    targetRef: { kind: WORKLOAD_KIND, namespace, name, uid },
  };
  if (wantsHostname(service) && isDnsLabel(name)) endpoint.hostname = name;
  if (zone) {
    endpoint.zone = zone;
    // One ready endpoint without a hint turns zone routing off for the whole Service, its pods
    // included (kube-proxy and Linkerd's proxies agree in that).
    if (service.zoneHints && conditions.ready) endpoint.hints = { forZones: [{ name: zone }] };
  }
  return endpoint;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
