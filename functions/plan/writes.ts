import type { LeftOut } from '../../core/outcome.ts';
import type { Labels, SliceRecord } from '../../core/records.ts';
import { endpointsOf, type SliceDraft } from './draft.ts';
import { compareText } from './text.ts';
import { byWorkload, type DesiredEndpoint, type EndpointSet } from './endpoint-set.ts';
import type { SliceNamer } from './names.ts';
import type { OrderedDrafts } from './order.ts';
import type { DesiredSlice, PlannedWrite, SlicePlan } from './types.ts';

/** What the plan says besides its writes, and what the writes need to be complete. */
export interface PlanFrame {
  readonly desired: readonly EndpointSet[];
  readonly unchanged: readonly SliceRecord[];
  readonly leftOut: readonly LeftOut[];
  readonly noSlicesBecause: string | null;
  readonly labels: Labels;
  readonly nameCreate: SliceNamer;
}

/** A draft with everything settled but what it waits for. */
interface Named {
  readonly verb: PlannedWrite['verb'];
  readonly id: string;
  readonly name: string;
  readonly endpoints: readonly DesiredEndpoint[];
}

/** Names and sorts the writes, and counts what they come to. */
export function assemblePlan({ drafts, after }: OrderedDrafts, frame: PlanFrame): SlicePlan {
  const named = new Map(drafts.map((draft) => [draft, nameDraft(draft, frame.nameCreate)]));
  const writes = [...named].map(([draft, write]) => {
    const ids = (after.get(draft) ?? []).flatMap((other) => named.get(other)?.id ?? []);
    return toWrite(draft, write, ids.sort(compareText), frame.labels);
  });
  const states = [
    ...frame.unchanged.map(({ endpoints }) => endpoints),
    ...[...named.values()].map(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint)),
  ].filter((endpoints) => endpoints.length > 0);
  return {
    writes: writes.sort(byVerbAndName),
    unchanged: frame.unchanged.map(({ name }) => name).sort(compareText),
    dropped: droppedWorkloads(drafts, frame.desired),
    leftOut: frame.leftOut.toSorted(byWorkloadAndReason),
    endpoints: sum(states, (endpoints) => endpoints.length),
    ready: sum(states, (endpoints) => sum(endpoints, ({ conditions }) => Number(conditions.ready))),
    slices: states.length,
    changed: sum(drafts, ({ added, dropped, renewed }) => added.length + dropped.length + renewed),
    noSlicesBecause: frame.noSlicesBecause,
  };
}

function nameDraft(draft: SliceDraft, nameCreate: SliceNamer): Named {
  const endpoints = endpointsOf(draft).toSorted(byWorkload);
  const [first] = endpoints;
  const name = draft.previous?.name ?? (first === undefined ? '' : nameCreate(first));
  const verb = draft.previous === null ? 'create' : first === undefined ? 'delete' : 'update';
  return { verb, id: `${verb}/${name}`, name, endpoints };
}

function toWrite(
  { previous }: SliceDraft,
  { id, name, endpoints }: Named,
  after: readonly string[],
  labels: Labels,
): PlannedWrite {
  const [first] = endpoints;
  if (first === undefined) {
    if (previous === null) throw new TypeError(`${id} holds nothing`);
    return { verb: 'delete', id, after, previous };
  }
  const slice: DesiredSlice = {
    name,
    addressType: first.family,
    labels,
    ports: first.portMap.ports,
    endpoints: endpoints.map(({ endpoint }) => endpoint),
  };
  return previous === null
    ? { verb: 'create', id, after, slice }
    : { verb: 'update', id, after, slice, previous };
}

const VERBS: readonly PlannedWrite['verb'][] = ['create', 'update', 'delete'];

function byVerbAndName(a: PlannedWrite, b: PlannedWrite): number {
  return VERBS.indexOf(a.verb) - VERBS.indexOf(b.verb) || compareText(a.id, b.id);
}

function byWorkloadAndReason(a: LeftOut, b: LeftOut): number {
  return compareText(a.workload, b.workload) || compareText(a.reason, b.reason);
}

/** Workloads that lose their last endpoint, by name; one that only moves or changes is not dropped. */
function droppedWorkloads(
  drafts: readonly SliceDraft[],
  desired: readonly EndpointSet[],
): SlicePlan['dropped'] {
  const dropped = new Map<string, { readonly name: string; readonly uid: string }>();
  for (const { targetRef } of drafts.flatMap((draft) => draft.dropped)) {
    const { name, uid = '' } = targetRef ?? {};
    if (name === undefined || desired.some((set) => set.has(name))) continue;
    dropped.set(`${name}\n${uid}`, { name, uid });
  }
  return [...dropped].sort(([a], [b]) => compareText(a, b)).map(([, workload]) => workload);
}

function sum<T>(items: readonly T[], count: (item: T) => number): number {
  return items.reduce((total, item) => total + count(item), 0);
}
