import type { Job, Worker } from 'bullmq';
import type { RedisClient } from '../client.ts';
import { assertNever, describeError, type TetherError } from '../../../core/errors.ts';
import { MAX_REASON_LENGTH, parseJob, queuePrefix, type QueueName } from '../../../core/job.ts';
import type { Logger } from '../../../core/logger.ts';
import { loadQueueScript, runScript } from '../scripts.ts';
import type { loadWorker } from './bullmq.ts';
import type { Disposition } from './disposition.ts';
import { isOutlived } from './on-demand.ts';
import { storable, writeOutcome, type OutcomeEntry } from './outcomes.ts';
import { DUE_FIELD, dueAt } from './waiting-since.ts';
import type { Add } from './work-queue.ts';

export interface SettleDeps {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly name: QueueName;
  readonly log: Logger;
  readonly bullmq: Pick<ReturnType<typeof loadWorker>, 'DelayedError' | 'UnrecoverableError'>;
  /** The worker's, which needs the runner first. */
  readonly backend: () => Pick<ReturnType<Worker['getBackend']>, 'moveToDelayed' | 'retryJob'>;
  /** Resolves once the event is in the queue. */
  readonly addEvent: (add: Add) => Promise<void>;
}

/** A job that this worker has, and the token of its lock. */
export interface Mine {
  readonly job: Job;
  readonly id: string;
  readonly token: string;
}

/** How a run ended: by its function, by its signal, or not at all. */
export type Ending =
  Disposition | { readonly kind: 'interrupted' } | { readonly kind: 'abandoned' };

/** Jobs that were refused for good are kept up to this number. */
export const KEEP_FAILED = 1000;
/** Data of a refused job that is longer is shortened: 1,000 jobs of 1 MB would fill Redis. */
const KEEP_DATA = 4096;
const SHOWN = 200;
const runNow = loadQueueScript('run-now');

/**
 * Does with a job what its function said. BullMQ takes what this returns, or throws, as the end of
 * the job; its own retries are never used, so that jobs behave alike whatever options somebody added
 * them with.
 */
export async function settle(deps: SettleDeps, mine: Mine, ending: Ending): Promise<unknown> {
  switch (ending.kind) {
    case 'complete':
      return complete(deps, mine, ending.result);
    case 'later':
      return await putOff(deps, mine, ending);
    case 'reject':
      return await fail(deps, mine, ending.error);
    case 'interrupted':
      return await putBack(deps, mine);
    case 'abandoned':
      // As if this process had died: nobody may start the key while the function still runs.
      throw new deps.bullmq.DelayedError();
    default:
      return assertNever(ending);
  }
}

/** Only what somebody may wait for has a result; BullMQ copies it into its stream of events. */
function complete(deps: SettleDeps, mine: Mine, result: unknown): unknown {
  // A job that is kept swallows the next add of its id, whatever options it was added with.
  mine.job.opts.removeOnComplete = true;
  if (mine.job.deduplicationId !== undefined) return undefined;
  const stored = storable(result);
  tellOutcome(deps, mine, { kind: 'completed', result: stored }, true);
  return stored;
}

/** BullMQ takes the error as the end of the job, and keeps it among the failed ones. */
export async function fail(deps: SettleDeps, mine: Mine, error: TetherError): Promise<never> {
  mine.job.opts.removeOnFail = { count: KEEP_FAILED };
  const reason = error.message.slice(0, MAX_REASON_LENGTH);
  tellOutcome(deps, mine, { kind: 'failed', reason }, true);
  deps.log.warn({ job: mine.id, code: error.code }, `job ${mine.id} is refused: ${reason}`);
  throw new deps.bullmq.UnrecoverableError(reason);
}

async function putOff(
  deps: SettleDeps,
  mine: Mine,
  { delayMs, reason }: Extract<Disposition, { kind: 'later' }>,
): Promise<never> {
  const { job, id, token } = mine;
  const entry = { kind: 'retry', reason: reason.slice(0, MAX_REASON_LENGTH) } as const;
  if (await becameEvent(deps, mine)) {
    tellOutcome(deps, mine, entry, true);
    mine.job.opts.removeOnFail = true;
    throw new deps.bullmq.UnrecoverableError(`${entry.reason}; its key is tried on as an event`);
  }
  tellOutcome(deps, mine, entry, false);
  await unlessTaken(deps, mine, async () => {
    const now = Date.now();
    const delay = Math.max(0, Math.round(delayMs));
    const fieldsToUpdate = dueAt(now + delay);
    await deps
      .backend()
      .moveToDelayed(id, now, delay, token, { skipAttempt: true, fieldsToUpdate });
    if (job.deduplicationId === undefined) return;
    const base = `${queuePrefix(deps.prefix)}:${deps.name}:`;
    const keys = ['delayed', `dn:${job.deduplicationId}`, 'marker', id].map((key) => base + key);
    await runScript(deps.redis, runNow, keys, [id, DUE_FIELD, Date.now()]);
  });
  throw new deps.bullmq.DelayedError();
}

/**
 * An on-demand job that nobody waits for any more goes on as an event of its key, of which there is one
 * however often somebody asked. The event is there before the job ends; where it cannot be added the job
 * is put off as before.
 */
async function becameEvent(deps: SettleDeps, { job, id }: Mine): Promise<boolean> {
  if (job.deduplicationId !== undefined || !isOutlived(job, Date.now())) return false;
  try {
    const { reason = 'asked for', at = Date.now(), ...rest } = parseJob(job.name, job.data);
    await deps.addEvent({ ...rest, reason, at });
  } catch (error) {
    deps.log.warn({ job: id }, `job ${id} did not become an event: ${describeError(error)}`);
    return false;
  }
  deps.log.info({ job: id }, `job ${id} was tried for long enough: its key goes on as an event`);
  return true;
}

/** For another worker to take at once: by no clock, and not through the delayed jobs. */
async function putBack(deps: SettleDeps, mine: Mine): Promise<never> {
  const fieldsToUpdate = dueAt(Date.now());
  await unlessTaken(deps, mine, () =>
    deps.backend().retryJob(mine.id, true, mine.token, { fieldsToUpdate }),
  );
  throw new deps.bullmq.DelayedError();
}

/**
 * Moves the job, unless it has gone to somebody else meanwhile (this process was paused for longer
 * than its lock): then it is theirs. Whatever fails here leaves the job active without a lock, and
 * it comes back by stalling.
 */
async function unlessTaken(
  deps: SettleDeps,
  { id }: Mine,
  move: () => Promise<unknown>,
): Promise<void> {
  try {
    await move();
  } catch (error) {
    deps.log.warn({ job: id }, `job ${id} was not moved: ${describeError(error)}`);
  }
}

/**
 * Tells those who wait for an on-demand job; nobody waits for others. Sent ahead of the command that
 * ends the job on the same connection, so it is there first, and costs no time.
 */
function tellOutcome(
  deps: SettleDeps,
  { job, id }: Mine,
  entry: OutcomeEntry,
  ends: boolean,
): void {
  if (job.deduplicationId !== undefined) return;
  const address = { prefix: deps.prefix, name: deps.name, jobId: id };
  writeOutcome(deps.redis, address, entry, ends).catch((error: unknown) => {
    deps.log.warn({ job: id }, `the outcome of job ${id} is lost: ${describeError(error)}`);
  });
}

/** Makes the data of a job that will be kept short. */
export async function shortenData({ job, id }: Mine, log: Logger): Promise<void> {
  try {
    const text = JSON.stringify(job.data) ?? '';
    if (text.length > KEEP_DATA) await job.updateData({ refused: text.slice(0, SHOWN) });
  } catch (error) {
    // Such as data nested so deep that it cannot be written again.
    log.warn({ job: id }, `the data of job ${id} is kept as it is: ${describeError(error)}`);
  }
}
