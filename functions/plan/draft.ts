import type { EndpointRecord, SliceRecord } from '../../core/records.ts';
import type { DesiredEndpoint } from './endpoint-set.ts';

/**
 * A slice in the making. What becomes of it follows from what it holds: without `previous` it is
 * created, without endpoints deleted, else updated. All its endpoints share a family and a PortMap.
 */
export interface SliceDraft {
  /** The slice as it was read; null for a new one. */
  readonly previous: SliceRecord | null;
  /** Endpoints that stay where they are, in their desired version. */
  readonly kept: readonly DesiredEndpoint[];
  /** Endpoints that come in from elsewhere, or anew. Packing fills this in, nothing later does. */
  readonly added: DesiredEndpoint[];
  /** Endpoints of `previous` that are not among `kept`. */
  readonly dropped: readonly EndpointRecord[];
  /** How many of `kept` are in another state than they were. */
  readonly renewed: number;
}

/** A slice of ours that nothing may reuse: of another Service's UID, or of a family nobody wants. */
export function removalOf(slice: SliceRecord): SliceDraft {
  return { previous: slice, kept: [], added: [], dropped: slice.endpoints, renewed: 0 };
}

export function endpointsOf(draft: SliceDraft): readonly DesiredEndpoint[] {
  return draft.added.length === 0 ? draft.kept : [...draft.kept, ...draft.added];
}

export function sizeOf(draft: SliceDraft): number {
  return draft.kept.length + draft.added.length;
}

export function isCreate(draft: SliceDraft): boolean {
  return draft.previous === null;
}

export function isDelete(draft: SliceDraft): boolean {
  return sizeOf(draft) === 0;
}
