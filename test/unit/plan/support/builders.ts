import { DEFAULT_MANAGER, LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../../../core/names.ts';
import type {
  EndpointRecord,
  OwnerReference,
  ServicePortRecord,
  ServiceRecord,
  SliceRecord,
  WorkloadRecord,
} from '../../../../core/records.ts';
import { planSlices } from '../../../../functions/plan/plan-slices.ts';
import type { PlanInput, PlanOptions, SlicePlan } from '../../../../functions/plan/types.ts';
import { PLAN_OPTIONS } from '../../../support/plan-options.ts';

/** The Service `default/web`, IPv4, port http at the workloads' port named http. */
const KEY = { namespace: 'default', name: 'web' };
const SERVICE_UID = '5e41c5a0-0000-4000-8000-000000000001';

export function aPort(overrides: Partial<ServicePortRecord> = {}): ServicePortRecord {
  return { name: 'http', port: 80, protocol: 'TCP', targetPort: 'http', ...overrides };
}

export function aService(overrides: Partial<ServiceRecord> = {}): ServiceRecord {
  return {
    name: 'web',
    uid: SERVICE_UID,
    rv: '10',
    deleting: false,
    type: 'ClusterIP',
    clusterIP: '10.96.0.10',
    ipFamilies: ['IPv4'],
    selector: { app: 'web' },
    ports: [aPort()],
    labels: {},
    publishNotReady: false,
    zoneHints: false,
    ...overrides,
  };
}

export function aWorkload(name: string, overrides: Partial<WorkloadRecord> = {}): WorkloadRecord {
  return {
    name,
    uid: `uid-${name}`,
    rv: '20',
    labels: { app: 'web' },
    ips: ['10.20.0.1'],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ready: true,
    deleting: false,
    ...overrides,
  };
}

/** `count` workloads named vm-<from> and up, with an address each. */
export function workloads(
  count: number,
  overrides: Partial<WorkloadRecord> = {},
  from = 0,
): WorkloadRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const number = from + index;
    const ip = `10.${20 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
    return aWorkload(`vm-${String(number).padStart(4, '0')}`, { ips: [ip], ...overrides });
  });
}

export const OWNER: OwnerReference = {
  apiVersion: 'v1',
  kind: 'Service',
  name: 'web',
  uid: SERVICE_UID,
  controller: true,
  blockOwnerDeletion: true,
};

export function aSlice(name: string, overrides: Partial<SliceRecord> = {}): SliceRecord {
  return {
    name,
    uid: `uid-${name}`,
    rv: '30',
    deleting: false,
    addressType: 'IPv4',
    labels: { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: DEFAULT_MANAGER },
    owners: [OWNER],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [],
    ...overrides,
  };
}

/** The endpoint that `aWorkload` is due from `aService`. */
export function anEndpoint(
  workload: WorkloadRecord,
  overrides: Partial<EndpointRecord> = {},
): EndpointRecord {
  return {
    addresses: workload.ips,
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: {
      kind: 'ExternalWorkload',
      namespace: 'default',
      name: workload.name,
      uid: workload.uid,
    },
    ...overrides,
  };
}

export function sliceOf(
  name: string,
  members: readonly WorkloadRecord[],
  overrides: Partial<SliceRecord> = {},
): SliceRecord {
  return aSlice(name, { endpoints: members.map((member) => anEndpoint(member)), ...overrides });
}

export const OPTIONS: PlanOptions = { ...PLAN_OPTIONS, manager: DEFAULT_MANAGER };

/** `options` may state a part of the options. */
export type InputParts = Partial<Omit<PlanInput, 'options'>> & {
  readonly options?: Partial<PlanOptions>;
};

export function anInput({ options = {}, ...parts }: InputParts = {}): PlanInput {
  return {
    key: KEY,
    service: aService(),
    workloads: [],
    slices: [],
    takenNames: [],
    ...parts,
    options: { ...OPTIONS, ...options },
  };
}

export function plan(parts: InputParts = {}): SlicePlan {
  return planSlices(deepFreeze(anInput(parts)));
}

/** Whoever changes an input in place finds it frozen. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

/** Slices web-0, web-1 and up of the given sizes, of workloads vm-0000 and up. */
export function slicesOf(...counts: number[]): SliceRecord[] {
  let from = 0;
  return counts.map((count, index) => {
    const slice = sliceOf(`web-${index}`, workloads(count, {}, from));
    from += count;
    return slice;
  });
}

export function notReady(all: readonly WorkloadRecord[], ...indices: number[]): WorkloadRecord[] {
  return all.map((each, index) => (indices.includes(index) ? { ...each, ready: false } : each));
}
