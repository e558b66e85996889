import type { Cidr } from '../../core/cidr.ts';
import type { ObjectKey } from '../../core/object-key.ts';
import type { LeftOut } from '../../core/outcome.ts';
import type {
  EndpointPortRecord,
  EndpointRecord,
  IpFamily,
  Labels,
  ServiceRecord,
  SliceRecord,
  WorkloadRecord,
} from '../../core/records.ts';

export interface PlanOptions {
  /** The value of the managed-by label: which slices are ours. */
  readonly manager: string;
  /** Managers whose slices become ours where this very Service owns them (rule B6). */
  readonly adopt: readonly string[];
  /** 1 to 1000. */
  readonly maxEndpointsPerSlice: number;
  /** Whether a workload without a Ready condition counts as ready (rule D3). */
  readonly workloadsWithoutStatus: 'ready' | 'not-ready';
  /** Whether a numeric targetPort must be declared by the workload (rule E2). */
  readonly undeclaredPorts: 'refuse' | 'allow';
  /** Ranges that addresses must be in; empty: any will do (rule D1). */
  readonly workloadCidrsAllow: readonly Cidr[];
  /** Ranges that no address may be in, allowed or not. */
  readonly workloadCidrsDeny: readonly Cidr[];
}

export interface PlanInput {
  readonly key: ObjectKey;
  /** Null when the Service does not exist. */
  readonly service: ServiceRecord | null;
  /** Workloads of the Service's namespace: at least every one that its selector matches. */
  readonly workloads: readonly WorkloadRecord[];
  /** Slices that carry the Service's name and a manager label of ours or to adopt (others are ignored). */
  readonly slices: readonly SliceRecord[];
  /** Names that a create may not use although no usable slice has them (rule G4). */
  readonly takenNames: readonly string[];
  readonly options: PlanOptions;
}

/** Everything of a slice that a create or an update states. */
export interface DesiredSlice {
  readonly name: string;
  readonly addressType: IpFamily;
  readonly labels: Labels;
  readonly ports: readonly EndpointPortRecord[];
  readonly endpoints: readonly EndpointRecord[];
}

/**
 * One write. `after` holds the ids of writes that must have SUCCEEDED before this one may start,
 * because they add an endpoint elsewhere that this one drops (rule H2). `id` is unique in a plan.
 */
export type PlannedWrite =
  | {
      readonly verb: 'create';
      readonly id: string;
      readonly after: readonly string[];
      readonly slice: DesiredSlice;
    }
  | {
      readonly verb: 'update';
      readonly id: string;
      readonly after: readonly string[];
      readonly slice: DesiredSlice;
      /** The slice as it was read: its resourceVersion, annotations and finalizers are carried. */
      readonly previous: SliceRecord;
    }
  | {
      readonly verb: 'delete';
      readonly id: string;
      readonly after: readonly string[];
      readonly previous: SliceRecord;
    };

export interface SlicePlan {
  /** Creates, then updates, then deletes; each list sorted by name. */
  readonly writes: readonly PlannedWrite[];
  /** Names of slices that are right already. */
  readonly unchanged: readonly string[];
  /** Workloads of existing endpoints that the new state no longer has; for the check of absences. */
  readonly dropped: readonly { readonly name: string; readonly uid: string }[];
  readonly leftOut: readonly LeftOut[];
  readonly endpoints: number;
  readonly ready: number;
  /** Endpoints that come, go, or change their state; one that moves counts twice. */
  readonly changed: number;
  /** Slices once the plan is applied. */
  readonly slices: number;
  /** Null when the Service gets no slices of ours, with the reason in words. */
  readonly noSlicesBecause: string | null;
}
