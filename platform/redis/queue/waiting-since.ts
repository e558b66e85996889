import type { Job } from 'bullmq';
import { queuePrefix, type QueueName } from '../../../core/job.ts';
import type { RedisClient } from '../client.ts';

/*
 * BullMQ knows when a job was added, and forgets when it was due once it is: by its age alone a key that
 * has backed off for an hour would seem to have waited for an hour.
 */

/** A field of our own in the hash of a job that was put off or put back: when it is due, ms since 1970. */
export const DUE_FIELD = 'due';

/** For BullMQ to write in the step that moves the job. */
export function dueAt(ms: number): Readonly<Record<string, string>> {
  return { [DUE_FIELD]: String(ms) };
}

/**
 * Since when a job that was just taken has waited, ms since 1970. Costs a round trip where the job ran
 * before. One that an event made due early, during its backoff, counts from now: BullMQ keeps no time of
 * that. One whose worker died counts from when it was in line before that.
 */
export async function waitingSince(
  place: { readonly redis: RedisClient; readonly prefix: string; readonly name: QueueName },
  job: Pick<Job, 'timestamp' | 'attemptsStarted'>,
  id: string,
): Promise<number> {
  if (job.attemptsStarted <= 1) return job.timestamp;
  const hash = `${queuePrefix(place.prefix)}:${place.name}:${id}`;
  const due = Number((await place.redis.hget(hash, DUE_FIELD)) ?? NaN);
  return Number.isNaN(due) ? job.timestamp : Math.min(due, Date.now());
}
