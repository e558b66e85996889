import { isDnsSubdomain } from '../../../../core/object-key.ts';
import type { EndpointRecord, ServiceRecord, SliceRecord } from '../../../../core/records.ts';
import type { PlannedWrite, SlicePlan } from '../../../../functions/plan/types.ts';
import { OWNER } from './builders.ts';

export interface ApplyOptions {
  readonly service: ServiceRecord | null;
  readonly max: number;
  /** Picks which of the writes that may start comes next; also picks the order of their endings. */
  readonly pick?: (count: number) => number;
  /** Ids of writes that fail: nothing that waits for them may start. */
  readonly failing?: readonly string[];
  /** Do not look for missing endpoints. */
  readonly gaps?: boolean;
}

/**
 * A small API server: applies the writes of a plan in any order that their `after` allows, refuses
 * what kube-apiserver would refuse, and checks after each write that nothing is missing that both
 * the old and the new state have. Gives the slices afterwards; throws at the first fault.
 */
export function applyPlan(
  slices: readonly SliceRecord[],
  plan: SlicePlan,
  { service, max, pick = () => 0, failing = [], gaps = false }: ApplyOptions,
): SliceRecord[] {
  const state = new Map(slices.map((slice) => [slice.name, slice]));
  const kept = identities(slices).intersection(identities(outcome(slices, plan)));
  const waiting = new Map(plan.writes.map((write) => [write.id, write]));
  if (waiting.size !== plan.writes.length) throw new Error('two writes have the same id');
  const done = new Set<string>();
  for (;;) {
    const startable = [...waiting.values()].filter(
      ({ id, after }) => !failing.includes(id) && after.every((other) => done.has(other)),
    );
    const write = startable[startable.length === 0 ? 0 : pick(startable.length)];
    if (write === undefined) break;
    perform(state, write, service, max);
    waiting.delete(write.id);
    done.add(write.id);
    const now = [...state.values()];
    const missing = [...kept.difference(identities(now))];
    if (missing.length > 0 && !gaps)
      throw new Error(`after ${write.id}, missing: ${missing.join(', ')}`);
  }
  const stuck = [...waiting.keys()].filter((id) => !failing.includes(id));
  if (failing.length === 0 && stuck.length > 0)
    throw new Error(`never started: ${stuck.join(', ')}`);
  return [...state.values()];
}

/** The slices if all writes happened at once. */
function outcome(slices: readonly SliceRecord[], { writes }: SlicePlan): SliceRecord[] {
  const state = new Map(slices.map((slice) => [slice.name, slice]));
  for (const write of writes) {
    if (write.verb === 'delete') state.delete(write.previous.name);
    else state.set(write.slice.name, { ...blank(write.slice.name), ...write.slice });
  }
  return [...state.values()];
}

function blank(name: string): SliceRecord {
  return {
    name,
    uid: `uid-${name}`,
    rv: '1',
    deleting: false,
    addressType: '',
    labels: {},
    owners: [],
    ports: [],
    endpoints: [],
  };
}

function perform(
  state: Map<string, SliceRecord>,
  write: PlannedWrite,
  service: ServiceRecord | null,
  max: number,
): void {
  if (write.verb === 'create') {
    create(state, write, service, max);
    return;
  }
  const { previous } = write;
  const current = state.get(previous.name);
  if (current?.rv !== previous.rv || current.uid !== previous.uid) {
    throw new Error(`${write.id}: conflict`);
  }
  if (write.verb === 'delete') {
    state.delete(previous.name);
    return;
  }
  if (write.slice.name !== previous.name) throw new Error(`${write.id}: another name`);
  if (write.slice.addressType !== previous.addressType) throw new Error(`${write.id}: immutable`);
  const rv = String(Number(previous.rv) + 1);
  state.set(previous.name, { ...previous, ...validated(write, max), rv });
}

function create(
  state: Map<string, SliceRecord>,
  write: PlannedWrite & { verb: 'create' },
  service: ServiceRecord | null,
  max: number,
): void {
  const { name } = write.slice;
  if (state.has(name)) throw new Error(`${write.id}: already exists`);
  if (!isDnsSubdomain(name)) throw new Error(`${write.id}: not a name`);
  if (write.after.length > 0) throw new Error(`${write.id}: a create never has to wait`);
  const owners = [{ ...OWNER, uid: service?.uid ?? '' }];
  state.set(name, { ...blank(name), owners, ...validated(write, max) });
}

function validated(write: PlannedWrite & { verb: 'create' | 'update' }, max: number) {
  const { slice } = write;
  const names = slice.ports.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new Error(`${write.id}: port name twice`);
  if (slice.ports.some(({ port }) => port === 0)) throw new Error(`${write.id}: port 0`);
  if (slice.endpoints.length > max) throw new Error(`${write.id}: too many endpoints`);
  if (slice.endpoints.length === 0) throw new Error(`${write.id}: an empty slice`);
  for (const { addresses, conditions } of slice.endpoints) {
    const states = [conditions.ready, conditions.serving, conditions.terminating];
    if (states.includes(undefined)) throw new Error(`${write.id}: a condition is not explicit`);
    const other = slice.addressType === 'IPv4' ? ':' : '.';
    if (addresses.length === 0 || addresses.some((text) => text.includes(other))) {
      throw new Error(`${write.id}: addresses ${addresses.join()} in ${slice.addressType}`);
    }
  }
  return slice;
}

function identities(slices: readonly SliceRecord[]): Set<string> {
  return new Set(endpointsOf(slices).map(identityOf));
}

/** Written out here once more, on purpose: a check must not share the code that it checks. */
export function identityOf({ addresses, hostname, targetRef }: EndpointRecord): string {
  const sorted = [...addresses].sort();
  return JSON.stringify([
    sorted,
    hostname ?? '',
    targetRef?.namespace ?? '',
    targetRef?.name ?? '',
  ]);
}

function endpointsOf(slices: readonly SliceRecord[]): EndpointRecord[] {
  return slices.filter(({ deleting }) => !deleting).flatMap(({ endpoints }) => endpoints);
}
