import type { EndpointRecord, IpFamily } from '../../core/records.ts';
import { compareText } from './text.ts';
import type { PortMap } from './ports.ts';

/** An endpoint that one family of a Service wants, and the ports it is reached at. */
export interface DesiredEndpoint {
  readonly workload: string;
  readonly family: IpFamily;
  readonly endpoint: EndpointRecord;
  readonly portMap: PortMap;
}

/**
 * The desired endpoints of one family, by workload name. A workload has one endpoint a family, so
 * its name finds the only candidate; `sameIdentity` then decides. Addresses never serve as a key:
 * two workloads may share one.
 */
export type EndpointSet = ReadonlyMap<string, DesiredEndpoint>;

/** The desired endpoint of the workload that an existing endpoint names, whatever its identity. */
export function findByWorkload(
  desired: EndpointSet,
  { targetRef }: EndpointRecord,
): DesiredEndpoint | undefined {
  return targetRef?.name === undefined ? undefined : desired.get(targetRef.name);
}

/**
 * Whether two endpoints are the same one, perhaps in different states: the same addresses in any
 * order, the same hostname and the same object. An endpoint that keeps its identity is updated
 * where it is; another one is a new endpoint that has to find a place.
 */
export function sameIdentity(a: EndpointRecord, b: EndpointRecord): boolean {
  return (
    a.targetRef?.name === b.targetRef?.name &&
    a.targetRef?.namespace === b.targetRef?.namespace &&
    sameText(a.hostname, b.hostname) &&
    sameMembers(a.addresses, b.addresses)
  );
}

/**
 * Whether two endpoints of one identity differ in nothing that a reader could see, hints and the
 * order of addresses included. Absent and empty texts are one, as they are for the API server.
 */
export function equalBeyondIdentity(a: EndpointRecord, b: EndpointRecord): boolean {
  return (
    sameConditions(a.conditions, b.conditions) &&
    a.targetRef?.kind === b.targetRef?.kind &&
    a.targetRef?.uid === b.targetRef?.uid &&
    a.foreign === b.foreign &&
    sameText(a.zone, b.zone) &&
    sameText(a.nodeName, b.nodeName) &&
    sameList(a.addresses, b.addresses) &&
    sameHints(a, b)
  );
}

export function byWorkload(a: DesiredEndpoint, b: DesiredEndpoint): number {
  return compareText(a.workload, b.workload);
}

// The loops below run for every endpoint of every plan, so that they allocate nothing.

function sameConditions(a: EndpointRecord['conditions'], b: EndpointRecord['conditions']): boolean {
  return a.ready === b.ready && a.serving === b.serving && a.terminating === b.terminating;
}

function sameText(a: string | undefined, b: string | undefined): boolean {
  return (a || '') === (b || '');
}

function sameHints(a: EndpointRecord, b: EndpointRecord): boolean {
  const ours = a.hints?.forZones ?? NONE;
  const theirs = b.hints?.forZones ?? NONE;
  if (ours.length !== theirs.length) return false;
  for (let index = 0; index < ours.length; index += 1) {
    if (ours[index]?.name !== theirs[index]?.name) return false;
  }
  return true;
}

const NONE: readonly never[] = [];

function sameList(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) {
    if (a[index] !== b[index]) return false;
  }
  return true;
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return sameList(a, b) || (a.length === b.length && sameList(a.toSorted(), b.toSorted()));
}
