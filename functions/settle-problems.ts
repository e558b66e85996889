import { ApiError, MissingKindError } from '../core/errors.ts';
import type { Outcome } from '../core/outcome.ts';
import { describeProblem, type WriteProblem } from './apply-plan.ts';

/** What no retry cures soon (a missing right or CRD, content that the API server refuses), in ms. */
const CONFIGURATION_RETRY_MS = 30_000;

/** A server, or a proxy before it, that asks for more is asked again after so long, in ms. */
const LONGEST_WAIT_MS = 300_000;

/** The normal course of things, nobody's to mend: no Event tells of it (report 37). */
export const USUAL: ReadonlySet<WriteProblem['kind']> = new Set([
  'conflict',
  'taken',
  'terminating',
  'skipped',
]);

/** The plan was made from what is not so any more: another one may succeed at once. */
export function isStale({ kind }: WriteProblem): boolean {
  return kind === 'conflict' || kind === 'taken';
}

/** The server is overloaded and says so: nothing more is to be asked of it until the wait is over. */
export function asksForTime(problem: WriteProblem): boolean {
  if (problem.kind !== 'failed' || !(problem.error instanceof ApiError)) return false;
  const { status, retryAfterMs = 0 } = problem.error.failure;
  return status === 429 || retryAfterMs > 0;
}

/**
 * Turns what went wrong into one outcome: the most telling problem gives the reason, the longest
 * wait asked for (Retry-After, or the slow retry of a configuration problem) the delay.
 */
export function settleProblems(problems: readonly WriteProblem[]): Outcome {
  const telling =
    problems.find(({ kind }) => !USUAL.has(kind)) ??
    problems.find(({ kind }) => kind !== 'skipped') ??
    problems[0];
  if (!telling) throw new TypeError('settleProblems needs a problem');
  const waits = problems.map(waitOf).filter((ms) => ms > 0);
  return {
    kind: 'retry',
    // A conflict that outlived the re-plans of a run is nobody's failure, but it must not spin.
    failure: true,
    ...(waits.length > 0 ? { afterMs: Math.max(...waits) } : {}),
    reason: describeProblem(telling),
    ...('error' in telling ? { error: telling.error } : {}),
  };
}

function waitOf(problem: WriteProblem): number {
  if (problem.kind === 'forbidden' || problem.kind === 'invalid') return CONFIGURATION_RETRY_MS;
  if (problem.kind !== 'failed') return 0;
  if (problem.error instanceof MissingKindError) return CONFIGURATION_RETRY_MS;
  if (!(problem.error instanceof ApiError)) return 0;
  if (problem.error.status === 403) return CONFIGURATION_RETRY_MS;
  return Math.min(problem.error.failure.retryAfterMs ?? 0, LONGEST_WAIT_MS);
}
