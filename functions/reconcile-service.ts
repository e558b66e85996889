import { backoffMs, KEY_BACKOFF } from '../core/backoff.ts';
import { LockLostError, UnreachableError } from '../core/errors.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import type { Outcome } from '../core/outcome.ts';
import type { Verdict } from '../platform/redis/view/service-view.ts';
import { excuseOutage, OUTAGE_RETRY_MS, type OutageWatch } from './api-gate.ts';
import { acquireLease, LOCKED_RETRY_MS, type Lease, type LeaseAnswer } from './lease.ts';
import { ServiceRun, type RunDeps } from './service-run.ts';

/** Everything outside that a run touches. Any runtime may make these; BullMQ is not among them. */
export interface ReconcileDeps extends RunDeps {
  readonly clock: { readonly now: () => Date; readonly monotonicMs: () => number };
  readonly random: () => number;
  /** A token that nobody else has. */
  readonly token: () => string;
  /** Tells an outage of the API server from a failure of the key. Without it all failures are the key's. */
  readonly outages?: OutageWatch;
}

export interface ReconcileOptions {
  /** `live`: ask the API server whatever the view says. Default `view`. */
  readonly read?: 'view' | 'live';
  /** When the change that caused this run was seen, ms since the epoch. Default: now. */
  readonly at?: number;
}

/** Without Redis nobody can count; a key is put off as after so many failures (0.4 to 0.8 s). */
const NO_REDIS_FAILURES = 5;
/** Reading live now would be two lists a key, of a server that has just come back. */
const NOT_MARKED_YET: Outcome = {
  kind: 'retry',
  afterMs: OUTAGE_RETRY_MS,
  failure: false,
  reason: 'the view is not marked as in sync again after an outage of the API server',
};

/**
 * Makes the slices of one Service what they should be: takes the key's lock, reads the state, plans,
 * writes, and records what was written. Stateless: any process may call it for any key at any time.
 *
 * Never throws for what the outside does; the outcome says whether and when to come again. `signal`
 * ends the run before its next write.
 */
export async function reconcileService(
  key: ObjectKey,
  deps: ReconcileDeps,
  signal: AbortSignal,
  options: ReconcileOptions = {},
): Promise<Outcome> {
  const { view, clock, random } = deps;
  const token = deps.token();
  let answer: LeaseAnswer;
  try {
    const read = options.read !== 'live';
    answer = await acquireLease({ key, token, read, view, signal, ...clock });
  } catch (cause) {
    const error = new UnreachableError(`take the lock of ${formatKey(key)}`, cause);
    const afterMs = backoffMs(NO_REDIS_FAILURES, KEY_BACKOFF, random);
    return { kind: 'retry', afterMs, failure: true, reason: error.message, error };
  }
  if (!answer.held) {
    return { kind: 'retry', afterMs: LOCKED_RETRY_MS, failure: false, reason: 'locked elsewhere' };
  }
  try {
    return await runHolding(key, deps, answer.lease, options);
  } finally {
    answer.lease.end();
  }
}

async function runHolding(
  key: ObjectKey,
  deps: ReconcileDeps,
  lease: Lease,
  options: ReconcileOptions,
): Promise<Outcome> {
  const live = options.read === 'live';
  const triggerTime = new Date(options.at ?? deps.clock.now()).toISOString();
  const run = new ServiceRun(key, deps, lease, triggerTime, live);
  const early = !live && lease.world === null && deps.outages?.justOver === true;
  const outcome = early ? NOT_MARKED_YET : await run.toOutcome();
  const excused = await excuseOutage(outcome, deps.outages);
  // What an outage spoilt is nothing that the owner of a Service can mend.
  if (excused === outcome) run.tellProblems();
  return finish(deps, key, lease, run, excused);
}

async function finish(
  deps: ReconcileDeps,
  key: ObjectKey,
  lease: Lease,
  run: ServiceRun,
  outcome: Outcome,
): Promise<Outcome> {
  if (outcome.kind === 'retry' && outcome.error instanceof LockLostError) deps.report.lockLost(key);
  let failures = 1;
  try {
    if (run.unsure) await deps.view.doubt(key);
    const finished = await lease.finish(verdictOf(outcome), run.written, run.deleted);
    failures = finished.failures;
    if (outcome.kind === 'done') return { ...outcome, failuresBefore: finished.failuresBefore };
  } catch {
    // Redis is gone: the lock runs out by itself, and the echoes of what was written heal the view.
  }
  if (outcome.kind !== 'retry' || !outcome.failure) return outcome;
  const backoff = backoffMs(failures, KEY_BACKOFF, deps.random);
  return { ...outcome, afterMs: Math.max(outcome.afterMs ?? 0, backoff), failures };
}

function verdictOf(outcome: Outcome): Verdict {
  if (outcome.kind === 'done') return 'ok';
  return outcome.kind === 'retry' && outcome.failure ? 'failed' : 'neutral';
}
