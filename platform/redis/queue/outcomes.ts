import type { RedisClient } from '../client.ts';
import { describeError, UnreachableError } from '../../../core/errors.ts';
import { queuePrefix, type QueueName } from '../../../core/job.ts';
import { LONGEST_ON_DEMAND_MS, putOffKey } from './on-demand.ts';

/*
 * How whoever added an on-demand job learns what came of it. The worker appends to a stream of the
 * job's own, before BullMQ removes the job; a stream is read without being consumed, from its
 * beginning, and by one command that also waits for what is not there yet. So a waiter that comes
 * late, or twice, misses nothing.
 *
 * Keeping finished jobs for a minute would do too, but for jobs that somebody adds under an id of
 * their own: a kept job swallows the next add of its id.
 */

/** What came of a job, for `--wait`. */
export type JobReport =
  | { readonly kind: 'completed'; readonly result: unknown }
  /** Refused for good. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** Not done when the waiting ended. `reason`: why it was last put off, if it ran at all. */
  | { readonly kind: 'pending'; readonly retries: number; readonly reason?: string }
  /** No such job: it never was, or it ended longer than `OUTCOME_TTL_MS` ago. */
  | { readonly kind: 'unknown' };

/** One entry of the stream. */
export type OutcomeEntry =
  | Extract<JobReport, { readonly kind: 'completed' | 'failed' }>
  /** Put off, and tried again later. */
  | { readonly kind: 'retry'; readonly reason: string };

/** Of a job that is pending and was never put off. */
export const NOT_ENDED = 'no worker has taken it, or its run has not ended yet';

/** How long an outcome can be asked for. */
const OUTCOME_TTL_MS = 120_000;
/** A job that is put off for ever does not grow for ever. */
const MAX_ENTRIES = 100;
/** In characters of JSON: a result is for a person to read. */
const MAX_RESULT = 64 * 1024;
/** No connection is trusted to stay silent for longer. */
const BLOCK_MS = 5000;

export interface JobAddress {
  readonly prefix: string;
  readonly name: QueueName;
  readonly jobId: string;
}

function outcomeKey({ prefix, name, jobId }: JobAddress): string {
  return `${queuePrefix(prefix)}:outcome:${name}:${jobId}`;
}

/**
 * Appends to a job's outcome; `entry` is storable. Notes beside it whether the job has been put off, for
 * `countOnDemand`.
 *
 * @param ends whether the job ends with this entry.
 */
export async function writeOutcome(
  redis: RedisClient,
  address: JobAddress,
  entry: OutcomeEntry,
  ends: boolean,
): Promise<void> {
  const key = outcomeKey(address);
  const putOff = putOffKey(address);
  const all = redis
    .multi()
    .xadd(key, 'MAXLEN', '~', MAX_ENTRIES, '*', 'entry', JSON.stringify(entry))
    .pexpire(key, OUTCOME_TTL_MS);
  if (ends) all.zrem(putOff, address.jobId);
  else {
    const now = Date.now();
    all
      .zadd(putOff, now, address.jobId)
      .zremrangebyscore(putOff, '-inf', now - LONGEST_ON_DEMAND_MS)
      .pexpire(putOff, LONGEST_ON_DEMAND_MS);
  }
  await all.exec();
}

/**
 * A result as it can be stored: itself, or a note instead of what is too long, or no JSON at all.
 * BullMQ would take a result that it cannot store for a failure of the job.
 */
export function storable(result: unknown): unknown {
  let length: number;
  try {
    length = (JSON.stringify(result) ?? '').length;
  } catch (error) {
    return `left out, as it is no JSON: ${describeError(error)}`;
  }
  return length <= MAX_RESULT ? result : `left out: ${length} characters are too many to keep`;
}

/**
 * Waits for a job's outcome, at most `timeoutMs`, on a connection that is used for nothing else: it
 * is cut when the waiting ends early.
 *
 * @throws the signal's reason when it is aborted; UnreachableError when Redis fails.
 */
export async function readOutcome(
  redis: RedisClient,
  address: JobAddress,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<JobReport> {
  options.signal?.throwIfAborted();
  // Not by the end of the command alone: ioredis forgets what waits for a Cluster's first connection.
  const over = Promise.withResolvers<'cut'>();
  const cut = (): void => {
    redis.disconnect();
    over.resolve('cut');
  };
  // A little later than the blocking command's own end, for a Redis that no longer answers.
  const timer = setTimeout(cut, options.timeoutMs + 250);
  options.signal?.addEventListener('abort', cut, { once: true });
  const progress = { retries: 0, reason: undefined as string | undefined };
  const until = performance.now() + options.timeoutMs;
  const following = followOutcome(redis, address, until, progress).catch((error: unknown) => {
    // What ended it may be told in either order.
    if (options.signal?.aborted === true || performance.now() >= until) return 'cut' as const;
    throw new UnreachableError(`wait for job ${address.jobId}`, error);
  });
  try {
    const report = await Promise.race([following, over.promise]);
    options.signal?.throwIfAborted();
    return report === 'cut' ? pending(progress) : report;
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', cut);
  }
}

interface Progress {
  retries: number;
  reason: string | undefined;
}

async function followOutcome(
  redis: RedisClient,
  address: JobAddress,
  deadline: number,
  progress: Progress,
): Promise<JobReport> {
  // Asked before the stream is read: the outcome is written before the job goes.
  const exists = (await redis.exists(jobKey(address))) === 1;
  let position = '0';
  for (let left = deadline - performance.now(); ; left = deadline - performance.now()) {
    const blockMs = exists ? Math.ceil(Math.max(1, Math.min(left, BLOCK_MS))) : 1;
    const reply = await redis.xread('BLOCK', blockMs, 'STREAMS', outcomeKey(address), position);
    for (const [id, fields] of reply?.[0]?.[1] ?? []) {
      position = id;
      const entry = JSON.parse(fields[1] ?? '{}') as OutcomeEntry;
      if (entry.kind !== 'retry') return entry;
      progress.retries += 1;
      progress.reason = entry.reason;
    }
    if (!exists && reply === null) return goneReport(progress);
    if (deadline <= performance.now()) return pending(progress);
  }
}

/** Of a job that is there no more, without an outcome: one that was put off goes on as an event of its key. */
function goneReport(progress: Progress): JobReport {
  return progress.retries > 0 ? pending(progress) : { kind: 'unknown' };
}

function pending({ retries, reason }: Progress): JobReport {
  return { kind: 'pending', retries, ...(reason === undefined ? {} : { reason }) };
}

function jobKey({ prefix, name, jobId }: JobAddress): string {
  return `${queuePrefix(prefix)}:${name}:${jobId}`;
}
