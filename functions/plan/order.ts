import type { EndpointRecord, IpFamily } from '../../core/records.ts';
import { isCreate, type SliceDraft } from './draft.ts';
import { sameIdentity } from './endpoint-set.ts';

export interface OrderedDrafts {
  readonly drafts: readonly SliceDraft[];
  /** The writes that must have succeeded before a write may start. */
  readonly after: Waits;
}

type Waits = ReadonlyMap<SliceDraft, readonly SliceDraft[]>;

interface Addition {
  readonly draft: SliceDraft;
  readonly endpoint: EndpointRecord;
}

/** For each wanted family, what is added of each workload. */
type Adders = ReadonlyMap<string, ReadonlyMap<string, Addition>>;

/** Whether an endpoint that is dropped is worth waiting for one of the same workload. */
type Bond = (dropped: EndpointRecord, added: EndpointRecord) => boolean;

const anyState: Bond = () => true;

/**
 * Decides which writes have to wait, so that no reader ever misses an endpoint that the old and the
 * new state both have: a write that drops it comes after the one that adds it elsewhere. Kubernetes'
 * and Linkerd's controllers write in a fixed order and have that gap.
 *
 * Writes can wait for one another in a circle: two slices that swap endpoints. Such a circle is cut
 * by splitting one of its writes in two, a new slice that only adds and a rest that only drops. It
 * costs one write more, every slice is still written once, and no slice ever exceeds the maximum
 * (adding first and dropping later in the same slice would do neither). For a create that recycles
 * a doomed slice the split is simply create and delete again, so those are split first. While a
 * Service is being deleted nothing may be created; a circle is then cut by not waiting.
 *
 * An endpoint that changes its identity, such as a workload's new address, makes its old version
 * wait too, but only where that closes no circle: it is never worth a write.
 */
export function orderWrites(
  drafts: readonly SliceDraft[],
  families: readonly IpFamily[],
  mayCreate: boolean,
): OrderedDrafts {
  let allowed = mayCreate ? drafts : drafts.filter((draft) => !isCreate(draft));
  let strict = waits(allowed, families, sameIdentity);
  const cuts = cutCircles(allowed, strict, cheapest);
  if (mayCreate && cuts.size > 0) {
    allowed = allowed.flatMap((draft) => (cuts.has(draft) ? splitDraft(draft) : draft));
    strict = waits(allowed, families, sameIdentity);
  } else {
    for (const draft of cuts) strict.delete(draft);
  }
  return { drafts: allowed, after: addWishes(allowed, families, strict) };
}

/**
 * Adds the waits for the sake of workloads that change, and gives them up draft by draft where they
 * close a circle. That ends: `strict` has no circle, so that every circle has a draft to give.
 */
function addWishes(
  drafts: readonly SliceDraft[],
  families: readonly IpFamily[],
  strict: Waits,
): Waits {
  const after = waits(drafts, families, anyState);
  const wishful = (draft: SliceDraft) => after.get(draft) !== strict.get(draft);
  for (;;) {
    const cuts = cutCircles(drafts, after, (circle) => circle.find(wishful));
    if (cuts.size === 0) return after;
    for (const draft of cuts) {
      const waited = strict.get(draft);
      if (waited === undefined) after.delete(draft);
      else after.set(draft, waited);
    }
  }
}

function waits(
  drafts: readonly SliceDraft[],
  families: readonly IpFamily[],
  bond: Bond,
): Map<SliceDraft, readonly SliceDraft[]> {
  const after = new Map<SliceDraft, readonly SliceDraft[]>();
  const adders = addersOf(drafts, families);
  for (const draft of drafts) {
    const needed = new Set(
      draft.dropped.flatMap((endpoint) => findAdders(adders, draft, endpoint, bond)),
    );
    needed.delete(draft);
    const inOrder = needed.size === 0 ? [] : drafts.filter((other) => needed.has(other));
    if (inOrder.length > 0) after.set(draft, inOrder);
  }
  return after;
}

function addersOf(drafts: readonly SliceDraft[], families: readonly IpFamily[]): Adders {
  const adders = new Map(families.map((family) => [family, new Map<string, Addition>()]));
  for (const draft of drafts) {
    for (const { family, workload, endpoint } of draft.added) {
      adders.get(family)?.set(workload, { draft, endpoint });
    }
  }
  return adders;
}

/**
 * Who adds the workload of a dropped endpoint. Families do not wait for one another, except that a
 * slice of a family that is no longer wanted, or of a legacy type, waits for all.
 */
function findAdders(
  adders: Adders,
  draft: SliceDraft,
  dropped: EndpointRecord,
  bond: Bond,
): SliceDraft[] {
  const family = adders.get(draft.previous?.addressType ?? '');
  const candidates = family === undefined ? [...adders.values()] : [family];
  return candidates.flatMap((additions) => {
    const addition = additions.get(dropped.targetRef?.name ?? '');
    return addition !== undefined && bond(dropped, addition.endpoint) ? addition.draft : [];
  });
}

/**
 * One draft of every circle, as `choose` picks it, so that no circle remains without them. A depth-first walk along `after`: it meets a draft
 * of its own path again exactly where there is a circle.
 */
function cutCircles(
  drafts: readonly SliceDraft[],
  after: Waits,
  choose: (circle: readonly SliceDraft[]) => SliceDraft | undefined,
): ReadonlySet<SliceDraft> {
  const cuts = new Set<SliceDraft>();
  const settled = new Set<SliceDraft>();
  for (const start of drafts) {
    const path = settled.has(start) ? [] : [start];
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const next = after.get(last)?.find((draft) => !settled.has(draft));
      if (next === undefined) {
        settled.add(last);
        path.pop();
      } else if (path.includes(next)) {
        const cut = choose(path.slice(path.indexOf(next))) ?? next;
        cuts.add(cut);
        settled.add(cut);
        path.length = path.indexOf(cut);
      } else {
        path.push(next);
      }
    }
  }
  return cuts;
}

/** Recycled pairs first, then the draft that adds least: its endpoints are the ones that move. */
function cheapest(circle: readonly SliceDraft[]): SliceDraft {
  return circle.reduce((best, draft) => {
    const recycled = Number(draft.kept.length === 0) - Number(best.kept.length === 0);
    if (recycled !== 0) return recycled > 0 ? draft : best;
    return draft.added.length < best.added.length ? draft : best;
  });
}

function splitDraft(draft: SliceDraft): SliceDraft[] {
  return [
    { ...draft, added: [] },
    { previous: null, kept: [], added: draft.added, dropped: [], renewed: 0 },
  ];
}
