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

/** A run of a key, as its worker logged it. */
export interface LoggedRun {
  /** Name of the member. */
  readonly member: string;
  /** Key of the Service. */
  readonly service: string;
  /** ms of the same clock as those of writes, but for what lies between a run and its line. */
  readonly from: number;
  readonly to: number;
}

/** A time in which the lock of a key may be lost or doubled: Redis was down, a holder hung, … */
export interface Excuse {
  readonly why: string;
  /** The one key that it is about; absent: all of them. */
  readonly service?: string;
  readonly from: number;
  readonly to: number;
}

export interface Overlaps {
  /** One line for each pair. */
  readonly found: readonly string[];
  readonly excused: number;
}

/**
 * One key has one writer at a time: from the first write of a run to its last, whatever came of them, no
 * other process writes for that Service. A write of a run that no log has stands for itself. Where a lock
 * cannot hold (it has a time limit, and Redis keeps it) an overlap is allowed: the state in the end says
 * whether it did harm.
 */
export function findOverlaps(
  writes: readonly SliceWrite[],
  runs: readonly LoggedRun[],
  excuses: readonly Excuse[],
): Overlaps {
  const found: string[] = [];
  let excused = 0;
  for (const [first, second] of pairs(spansOf(writes, runs))) {
    const { service } = first;
    const from = Math.min(first.from, second.from);
    const to = Math.max(first.to, second.to);
    const covers = (excuse: Excuse): boolean =>
      (excuse.service ?? service) === service && excuse.from <= to && excuse.to >= from;
    if (excuses.some(covers)) excused += 1;
    else found.push(`${service}: ${sentence(first)} while ${sentence(second)}`);
  }
  return { found, excused };
}

/** What one run wrote: the key's lock was its own from the first of it to the last. */
interface Span extends Pick<SliceWrite, 'by' | 'service' | 'from' | 'to'> {
  readonly writes: readonly SliceWrite[];
}

function spansOf(writes: readonly SliceWrite[], runs: readonly LoggedRun[]): Span[] {
  const runsOf = Map.groupBy(runs, ({ member, service }) => `${member} ${service}`);
  const groups = Map.groupBy(writes, (write) => {
    const [member = ''] = write.by.split(' ');
    return runOf(write, runsOf.get(`${member} ${write.service}`) ?? []) ?? write;
  });
  return [...groups.values()].flatMap((ofOne) => {
    const [first] = ofOne;
    if (first === undefined) return [];
    const from = Math.min(...ofOne.map((write) => write.from));
    const to = Math.max(...ofOne.map((write) => write.to));
    return [{ by: first.by, service: first.service, writes: ofOne, from, to }];
  });
}

/** A busy worker logs a run so much later than it ended, ms. */
const LATE_MS = 50;

/** The run in which a write was sent: the nearest, as the times of runs are not exact. */
function runOf({ from }: SliceWrite, runs: readonly LoggedRun[]): LoggedRun | undefined {
  const away = (run: LoggedRun): number => Math.max(run.from - from, from - run.to, 0);
  const near = runs.filter((run) => away(run) <= LATE_MS);
  return near.toSorted((a, b) => away(a) - away(b))[0];
}

function* pairs(spans: readonly Span[]): Generator<readonly [Span, Span]> {
  for (const ofOne of Map.groupBy(spans, ({ service }) => service).values()) {
    for (const [at, first] of ofOne.entries()) {
      for (const second of ofOne.slice(at + 1)) {
        const together = first.from < second.to && second.from < first.to;
        if (together && first.by !== second.by) yield [first, second];
      }
    }
  }
}

function sentence({ by, writes, from, to }: Span): string {
  const made = writes.map(({ what }) => `"${what}"`).join(', ');
  return `${by} made ${made} (${Math.round(from)} to ${Math.round(to)} ms)`;
}
