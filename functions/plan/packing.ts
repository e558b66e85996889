import type { EndpointRecord, Labels, ServiceRecord, SliceRecord } from '../../core/records.ts';
import { sizeOf, type SliceDraft } from './draft.ts';
import { compareText } from './text.ts';
import {
  byWorkload,
  equalBeyondIdentity,
  findByWorkload,
  sameIdentity,
  type DesiredEndpoint,
  type EndpointSet,
} from './endpoint-set.ts';
import { sameLabels } from './labels.ts';
import { statesOwner } from './owner.ts';
import { portMapKey } from './ports.ts';

export interface PackingRules {
  /** The owner that every slice has to state. */
  readonly service: ServiceRecord;
  /** The labels that every slice has to carry. */
  readonly labels: Labels;
  readonly maxEndpoints: number;
}

export interface Packing {
  /** Slices to write or delete, in an order that depends on nothing but names and ports. */
  readonly drafts: readonly SliceDraft[];
  readonly unchanged: readonly SliceRecord[];
}

/** The slices and the homeless endpoints of one set of ports. */
interface PortGroup {
  readonly reviewed: Review[];
  readonly homeless: DesiredEndpoint[];
}

interface Review {
  readonly slice: SliceRecord;
  readonly draft: SliceDraft;
  /** The slice has to be written even if nothing is added to it. */
  readonly changed: boolean;
}

/**
 * Spreads the desired endpoints of one family over slices with the fewest writes, not the fewest
 * slices: every write of a slice is sent to every node of the cluster. The steps are those of
 * k8s.io/endpointslice (`reconcileByPortMapping`), made deterministic. `slices` are sorted by name,
 * all of this family and owned by the Service.
 */
export function packFamily(
  desired: EndpointSet,
  slices: readonly SliceRecord[],
  rules: PackingRules,
): Packing {
  const groups = new Map<string, PortGroup>();
  const placed = new Set<string>();
  for (const slice of slices) {
    const key = portMapKey(slice.ports);
    groupOf(groups, key).reviewed.push(review(slice, key, desired, placed, rules));
  }
  for (const endpoint of placed.size === desired.size ? [] : desired.values()) {
    if (placed.has(endpoint.workload)) continue;
    groupOf(groups, endpoint.portMap.key).homeless.push(endpoint);
  }
  const packings = [...groups]
    .sort(([a], [b]) => compareText(a, b))
    .map(([, group]) => packGroup(group, rules.maxEndpoints));
  return {
    drafts: packings.flatMap((packing) => packing.drafts),
    unchanged: packings.flatMap((packing) => packing.unchanged),
  };
}

function groupOf(groups: Map<string, PortGroup>, key: string): PortGroup {
  let group = groups.get(key);
  if (group === undefined) {
    group = { reviewed: [], homeless: [] };
    groups.set(key, group);
  }
  return group;
}

/**
 * Keeps what is still desired, each endpoint in its desired version, and drops the rest: what is
 * gone, what moved to other ports, and what an earlier slice holds already (a crash between two
 * writes leaves such doubles). A slice above the maximum keeps its first endpoints.
 */
function review(
  slice: SliceRecord,
  portKey: string,
  desired: EndpointSet,
  placed: Set<string>,
  rules: PackingRules,
): Review {
  const kept: DesiredEndpoint[] = [];
  const dropped: EndpointRecord[] = [];
  let renewed = 0;
  for (const existing of slice.endpoints) {
    const found = findByWorkload(desired, existing);
    if (
      found === undefined ||
      !belongsHere(found, existing, portKey) ||
      placed.has(found.workload)
    ) {
      dropped.push(existing);
      continue;
    }
    placed.add(found.workload);
    kept.push(found);
    if (!equalBeyondIdentity(found.endpoint, existing)) renewed += 1;
  }
  if (kept.length > rules.maxEndpoints) {
    for (const surplus of kept.sort(byWorkload).splice(rules.maxEndpoints)) {
      placed.delete(surplus.workload);
      dropped.push(surplus.endpoint);
    }
  }
  const relabelled = !sameLabels(slice.labels, rules.labels) || !statesOwner(slice, rules.service);
  const changed = relabelled || renewed > 0 || dropped.length > 0;
  return { slice, draft: { previous: slice, kept, added: [], dropped, renewed }, changed };
}

function belongsHere(found: DesiredEndpoint, existing: EndpointRecord, portKey: string): boolean {
  return found.portMap.key === portKey && sameIdentity(found.endpoint, existing);
}

function packGroup(group: PortGroup, maxEndpoints: number): Packing {
  const homeless = inOrder(group.homeless);
  // A slice with nothing left goes, whatever is still to be placed: recycling may yet reuse it.
  const empty = group.reviewed.filter(({ draft }) => sizeOf(draft) === 0);
  const living = group.reviewed.filter(({ draft }) => sizeOf(draft) > 0);
  const changed = living.filter((reviewed) => reviewed.changed);
  const untouched = living.filter((reviewed) => !reviewed.changed);
  const toWrite = changed.map(({ draft }) => draft);
  for (const draft of toWrite.toSorted(byFullest)) fill(draft, homeless, maxEndpoints);
  const created = placeRest(homeless, untouched, maxEndpoints);
  const taker = untouched.filter(({ draft }) => draft.added.length > 0);
  return {
    drafts: [...toWrite, ...[...empty, ...taker].map(({ draft }) => draft), ...created],
    unchanged: untouched.filter(({ draft }) => draft.added.length === 0).map(({ slice }) => slice),
  };
}

/**
 * Places what the slices that are written anyway could not take. Less than a slice full goes to the
 * one untouched slice that becomes fullest with ALL of it: splitting it over several would trade
 * one write for many. The rest goes to new slices, each filled to the maximum.
 */
function placeRest(
  homeless: Map<string, DesiredEndpoint>,
  untouched: readonly Review[],
  maxEndpoints: number,
): SliceDraft[] {
  const created: SliceDraft[] = [];
  while (homeless.size > 0) {
    const host =
      homeless.size < maxEndpoints ? findHost(untouched, homeless.size, maxEndpoints) : null;
    if (host !== null) {
      fill(host, homeless, maxEndpoints);
      continue;
    }
    const draft: SliceDraft = { previous: null, kept: [], added: [], dropped: [], renewed: 0 };
    fill(draft, homeless, maxEndpoints);
    created.push(draft);
  }
  return created;
}

function findHost(
  untouched: readonly Review[],
  incoming: number,
  maxEndpoints: number,
): SliceDraft | null {
  const roomy = untouched.filter(({ draft }) => sizeOf(draft) + incoming <= maxEndpoints);
  return roomy.map(({ draft }) => draft).sort(byFullest)[0] ?? null;
}

/**
 * Fills a slice up. A workload that the slice dropped an older endpoint of (its address changed)
 * comes first, so that the change is one write of one slice; the others follow by name.
 */
function fill(
  draft: SliceDraft,
  homeless: Map<string, DesiredEndpoint>,
  maxEndpoints: number,
): void {
  const own = draft.dropped.flatMap((old) => findByWorkload(homeless, old) ?? []);
  for (const candidates of [own.sort(byWorkload), homeless.values()]) {
    for (const endpoint of candidates) {
      if (sizeOf(draft) >= maxEndpoints) return;
      if (homeless.delete(endpoint.workload)) draft.added.push(endpoint);
    }
  }
}

/** Fullest first; slices come sorted by name and sorting is stable, so that names break ties. */
function byFullest(a: SliceDraft, b: SliceDraft): number {
  return sizeOf(b) - sizeOf(a);
}

function inOrder(endpoints: readonly DesiredEndpoint[]): Map<string, DesiredEndpoint> {
  return new Map(endpoints.toSorted(byWorkload).map((endpoint) => [endpoint.workload, endpoint]));
}
