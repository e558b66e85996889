import { isDeepStrictEqual } from 'node:util';
import type { EndpointRecord, SliceRecord } from '../../../../core/records.ts';
import { identityOf } from './apply-plan.ts';

/** A desired endpoint with the text of its ports. */
export interface ReferenceEndpoint {
  readonly ports: string;
  readonly endpoint: EndpointRecord;
}

interface Tally {
  creates: number;
  updates: number;
  deletes: number;
}

/**
 * How many writes the algorithm of k8s.io/endpointslice 0.36 makes for one family, from its
 * description in three steps (keep and drop; fill what changes; then one host or new slices) and its
 * recycling. `slices` are of the family and owned by the Service. It places endpoints by number only:
 * which one goes where does not change how many writes there are.
 */
export function upstreamWrites(
  desired: readonly ReferenceEndpoint[],
  slices: readonly SliceRecord[],
  labels: object,
  max: number,
): number {
  const tally: Tally = { creates: 0, updates: 0, deletes: 0 };
  const wanted = new Map<string, Map<string, EndpointRecord>>();
  for (const { ports, endpoint } of desired) {
    const group = wanted.get(ports) ?? new Map<string, EndpointRecord>();
    wanted.set(ports, group.set(identityOf(endpoint), endpoint));
  }
  for (const slice of slices) if (!wanted.has(portsText(slice.ports))) tally.deletes += 1;
  for (const [ports, group] of wanted) {
    const mine = slices.filter((slice) => portsText(slice.ports) === ports);
    reconcileGroup(group, mine, labels, max, tally);
  }
  const recycled = Math.min(tally.creates, tally.deletes);
  return tally.creates + tally.updates + tally.deletes - recycled;
}

function reconcileGroup(
  group: Map<string, EndpointRecord>,
  slices: readonly SliceRecord[],
  labels: object,
  max: number,
  tally: Tally,
): void {
  const changed: number[] = [];
  const unchanged: number[] = [];
  for (const slice of slices) {
    let kept = 0;
    let differs = false;
    for (const existing of slice.endpoints) {
      const got = group.get(identityOf(existing));
      if (got === undefined) continue;
      kept += 1;
      differs ||= !isDeepStrictEqual(got, existing);
      group.delete(identityOf(existing));
    }
    if (differs || kept !== slice.endpoints.length) {
      if (kept === 0) tally.deletes += 1;
      else changed.push(kept);
    } else if (!isDeepStrictEqual({ ...slice.labels }, { ...labels })) changed.push(kept);
    else unchanged.push(kept);
  }
  tally.updates += changed.length;
  placeRest(group.size, changed, unchanged, max, tally);
}

function placeRest(
  total: number,
  changed: number[],
  unchanged: readonly number[],
  max: number,
  tally: Tally,
): void {
  let left = total;
  for (const size of changed.sort((a, b) => b - a)) left -= Math.min(left, Math.max(0, max - size));
  while (left > 0) {
    const hosts = unchanged.filter((size) => size + left <= max);
    if (left < max && hosts.length > 0) {
      tally.updates += 1;
      return;
    }
    tally.creates += 1;
    left -= Math.min(left, max);
  }
}

export function portsText(ports: SliceRecord['ports']): string {
  return ports
    .map(({ name, port, protocol, appProtocol }) =>
      JSON.stringify([name, port, protocol, appProtocol]),
    )
    .sort()
    .join();
}
