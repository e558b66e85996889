import type { SliceRecord } from '../../core/records.ts';
import { isCreate, isDelete, type SliceDraft } from './draft.ts';
import { compareText } from './text.ts';

/** A doomed slice, the new one that could take its name, and how many workloads they share. */
interface Match {
  readonly doomed: SliceRecord;
  readonly create: SliceDraft;
  readonly shared: number;
}

/**
 * Turns creates into updates of slices that would be deleted: one write instead of two. `drafts`
 * are of one family and of slices owned by the Service. The two that share most workloads are
 * paired first, because a reader of that slice then sees fewest endpoints move; what is left is
 * paired in order. Pairs that would make slices swap endpoints in a circle are taken apart again
 * where writes are ordered (`order.ts`).
 */
export function recycle(drafts: readonly SliceDraft[]): readonly SliceDraft[] {
  const creates = drafts.filter(isCreate);
  const doomed = drafts.filter(isDelete).flatMap(({ previous }) => previous ?? []);
  if (creates.length === 0 || doomed.length === 0) return drafts;
  doomed.sort((a, b) => compareText(a.name, b.name));
  const pairs = pairUp(creates, doomed);
  const reused = new Set(pairs.values());
  return drafts.flatMap((draft) => {
    const slice = pairs.get(draft);
    if (slice !== undefined) return { ...draft, previous: slice, dropped: slice.endpoints };
    return isDelete(draft) && draft.previous !== null && reused.has(draft.previous) ? [] : draft;
  });
}

function pairUp(
  creates: readonly SliceDraft[],
  doomed: readonly SliceRecord[],
): Map<SliceDraft, SliceRecord> {
  const pairs = new Map<SliceDraft, SliceRecord>();
  const free = new Set(doomed);
  for (const match of matches(creates, doomed)) {
    if (pairs.has(match.create) || !free.delete(match.doomed)) continue;
    pairs.set(match.create, match.doomed);
  }
  const rest = [...free];
  for (const create of creates) {
    const slice = pairs.has(create) ? undefined : rest.shift();
    if (slice !== undefined) pairs.set(create, slice);
  }
  return pairs;
}

/** Every two that share something, those that share most first. */
function matches(creates: readonly SliceDraft[], doomed: readonly SliceRecord[]): Match[] {
  const homes = new Map<string, SliceDraft>();
  for (const create of creates) {
    for (const { workload } of create.added) homes.set(workload, create);
  }
  const found = doomed.flatMap((slice) => {
    const shared = new Map<SliceDraft, number>();
    for (const { targetRef } of slice.endpoints) {
      const create = homes.get(targetRef?.name ?? '');
      if (create !== undefined) shared.set(create, (shared.get(create) ?? 0) + 1);
    }
    // In the order of `creates`, so that ties do not follow the order of a slice's endpoints.
    return creates.flatMap((create): Match | [] => {
      const count = shared.get(create);
      return count === undefined ? [] : { doomed: slice, create, shared: count };
    });
  });
  return found.sort((a, b) => b.shared - a.shared);
}
