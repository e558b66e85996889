import type { EndpointRecord, SliceRecord } from '../../core/records.ts';
import type { PlannedWrite } from '../../functions/plan/types.ts';
import type { Pass } from './pass.ts';

/**
 * Writes that upstream makes as one and Tether as two: a create, and a delete or an update beside it
 * that could have held the same endpoints. Tether may do so only where the one write would have to
 * wait for itself: slices that swap endpoints.
 */
export interface Splits {
  /** A new slice beside a delete of a slice whose name it could have taken. */
  readonly recycles: number;
  /** A new slice beside an update of a slice that had room for it. */
  readonly updates: number;
  /** Creates that had such a partner, in a plan where nothing would have had to wait for itself. */
  readonly avoidable: readonly string[];
  /** As `avoidable`, in a plan that had to take something apart: Tether does not pair anew then. */
  readonly secondBest: number;
}

/** A write as the order of writes sees it: the endpoints that come and go with it. */
interface Move {
  readonly family: string;
  readonly adds: ReadonlySet<string>;
  readonly drops: ReadonlySet<string>;
}

type Create = Extract<PlannedWrite, { verb: 'create' }>;
type Partner = Exclude<PlannedWrite, { verb: 'create' }>;

export function findSplits(pass: Pass): Splits {
  const creates = pass.plan.writes.filter((write): write is Create => write.verb === 'create');
  const partners = pass.plan.writes.filter((write): write is Partner => write.verb !== 'create');
  const pairs = creates.flatMap((create) =>
    partners
      .filter((partner) => couldHold(pass, partner, create))
      .map((partner) => ({ create, partner })),
  );
  const count = (verb: Partner['verb']): number => {
    const chosen = pairs.filter(({ partner }) => partner.verb === verb);
    return Math.min(
      new Set(chosen.map(({ create }) => create)).size,
      new Set(chosen.map(({ partner }) => partner)).size,
    );
  };
  const [swaps, free] = [true, false].map((swap) =>
    pairs.filter(({ create, partner }) => waitsForItself(pass, create, partner) === swap),
  );
  const avoidable = [...new Set(free?.map(({ create }) => create.id))];
  const settled = swaps?.length === 0;
  return {
    recycles: count('delete'),
    updates: count('update'),
    avoidable: settled ? avoidable : [],
    secondBest: settled ? 0 : avoidable.length,
  };
}

function couldHold(pass: Pass, partner: Partner, { slice }: Create): boolean {
  const { previous } = partner;
  const owned = previous.owners.some((owner) => owner.uid === pass.input.service?.uid);
  if (!owned || previous.addressType !== slice.addressType) return false;
  if (partner.verb === 'delete') return true;
  const samePorts = JSON.stringify(partner.slice.ports) === JSON.stringify(slice.ports);
  const size = partner.slice.endpoints.length + slice.endpoints.length;
  return samePorts && size <= pass.input.options.maxEndpointsPerSlice;
}

function waitsForItself(pass: Pass, create: Create, partner: Partner): boolean {
  const old = identities(partner.previous.endpoints);
  const kept = identities(partner.verb === 'update' ? partner.slice.endpoints : []);
  const added = identities(create.slice.endpoints);
  const merged: Move = {
    family: create.slice.addressType,
    adds: new Set([...added, ...kept].filter((name) => added.has(name) || !old.has(name))),
    drops: new Set([...old].filter((name) => !kept.has(name) && !added.has(name))),
  };
  const others = pass.plan.writes
    .filter((write) => write !== create && write !== partner)
    .map(toMove);
  return reaches(merged, merged, others, new Set());
}

/** Whether `from` waits, through others or directly, for `target`. */
function reaches(from: Move, target: Move, others: readonly Move[], seen: Set<Move>): boolean {
  const waitsFor = (move: Move): boolean =>
    move.family === from.family && [...from.drops].some((name) => move.adds.has(name));
  if (from !== target && waitsFor(target)) return true;
  for (const next of others.filter((move) => move !== from && !seen.has(move) && waitsFor(move))) {
    seen.add(next);
    if (reaches(next, target, others, seen)) return true;
  }
  return false;
}

function toMove(write: PlannedWrite): Move {
  const before: SliceRecord | null = write.verb === 'create' ? null : write.previous;
  const old = identities(before?.endpoints ?? []);
  const now = identities(write.verb === 'delete' ? [] : write.slice.endpoints);
  // A slice that takes over another group's name holds all of its endpoints anew.
  const anew =
    write.verb === 'update' && JSON.stringify(write.slice.ports) !== JSON.stringify(before?.ports);
  return {
    family: write.verb === 'delete' ? write.previous.addressType : write.slice.addressType,
    adds: new Set([...now].filter((name) => anew || !old.has(name))),
    drops: new Set([...old].filter((name) => !now.has(name))),
  };
}

/** Which endpoints they are, whatever state those are in (rule D9). */
function identities(endpoints: readonly EndpointRecord[]): Set<string> {
  return new Set(
    endpoints.map(({ addresses, hostname, targetRef }) =>
      [targetRef?.name, hostname, ...[...addresses].sort()].join(' '),
    ),
  );
}
