/** A write of a slice, whatever came of it. */
export interface SliceWrite {
  /** Who sent it, told apart from those who had the name before: `worker-0 (pid 17)`. */
  readonly by: string;
  /** Key of the Service. */
  readonly service: string;
  /** `update fuzz-a/web-ew-…` */
  readonly what: string;
  /** When it was sent and when it was answered, ms of one clock. */
  readonly from: number;
  readonly to: number;
}

/** A time in which the lock of a key may be lost or doubled: Redis was down, a holder hung, … */
export interface Excuse {
  readonly why: string;
  readonly from: number;
  readonly to: number;
}

export interface Overlaps {
  /** One line for each pair. */
  readonly found: readonly string[];
  readonly excused: number;
}

/**
 * One key has one writer at a time. Two writes of different processes for one Service that were
 * under way at once mean that two runs of the key overlapped, whether they succeeded or not. Where a
 * lock cannot hold (it has a time limit, and Redis keeps it) that is allowed: the state in the end
 * says whether it did harm.
 */
export function findOverlaps(writes: readonly SliceWrite[], excuses: readonly Excuse[]): Overlaps {
  const found: string[] = [];
  let excused = 0;
  for (const [first, second] of pairs(writes)) {
    const from = Math.min(first.from, second.from);
    const to = Math.max(first.to, second.to);
    if (excuses.some((excuse) => excuse.from <= to && excuse.to >= from)) excused += 1;
    else found.push(`${first.service}: ${sentence(first)} while ${sentence(second)}`);
  }
  return { found, excused };
}

function* pairs(writes: readonly SliceWrite[]): Generator<readonly [SliceWrite, SliceWrite]> {
  for (const ofOne of Map.groupBy(writes, ({ service }) => service).values()) {
    for (const [at, first] of ofOne.entries()) {
      for (const second of ofOne.slice(at + 1)) {
        const together = first.from < second.to && second.from < first.to;
        if (together && first.by !== second.by) yield [first, second];
      }
    }
  }
}

function sentence({ by, what, from, to }: SliceWrite): string {
  return `${by} made "${what}" (${Math.round(from)} to ${Math.round(to)} ms)`;
}
