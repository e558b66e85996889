import type { Excuse, LoggedRun } from './overlaps.ts';

/** What the checks want to know of a member's log. */
export interface LogFindings {
  readonly runs: readonly LoggedRun[];
  /** A machine that is busy enough takes a lock away, too; who lost one says so. */
  readonly lostLocks: readonly Excuse[];
}

/** Before and after a lost lock is told, ms: as long as it lasts, and some. */
const AROUND_MS = 3_000;
/** Of lines, and of the durations in them. */
const PRECISION_MS = 1;

/** Looks for runs of Services, and for locks that were lost, in lines of JSON; times as `performance.now()`. */
export function readWorkerLog(member: string, lines: readonly string[]): LogFindings {
  const runs: LoggedRun[] = [];
  const lostLocks: Excuse[] = [];
  for (const line of lines) {
    const parsed = line.includes('"key":') ? parse(line) : undefined;
    if (parsed === undefined) continue;
    const { key: service, time, ms, msg } = parsed;
    const at = Date.parse(time) - performance.timeOrigin;
    if (msg.startsWith('the lock was lost')) {
      const why = `${member} lost the lock of ${service}`;
      lostLocks.push({ why, service, from: at - AROUND_MS, to: at + AROUND_MS });
    } else if (ms !== undefined && msg !== NOT_BEGUN) {
      runs.push({ member, service, from: at - ms - PRECISION_MS, to: at + PRECISION_MS });
    }
  }
  return { runs, lostLocks };
}

/** undefined: the line of a process that was killed in the middle of it. */
function parse(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}

/** What a run says that found the lock taken: it may lie within another one of the same process. */
const NOT_BEGUN = 'locked elsewhere';

/** Of the fields of a line those that matter here; each run has `ms`. */
interface Line {
  readonly key: string;
  readonly time: string;
  readonly ms?: number;
  readonly msg: string;
}
