import type { RedisClient } from '../client.ts';
import { queuePrefix, type QueueName } from '../../../core/job.ts';

/*
 * On-demand jobs are each a run of their own, and nothing collapses them: of a key that fails they would
 * pile up, first in line, for as long as somebody asks again. So none outlives those who wait for it, and
 * those that back off are known by number.
 */

/** So long, ms, an on-demand job is tried at most: nobody waits for longer (docs/trigger.md). */
export const LONGEST_ON_DEMAND_MS = 300_000;

interface Place {
  readonly prefix: string;
  readonly name: QueueName;
}

/**
 * Sorted set of the ids of on-demand jobs that were put off and have not ended; score: when they were put
 * off last, ms. Whoever counts leaves out what is older than `LONGEST_ON_DEMAND_MS`: jobs that somebody
 * removed by hand.
 */
export function putOffKey({ prefix, name }: Place): string {
  return `${queuePrefix(prefix)}:put-off:${name}`;
}

/**
 * Whether an on-demand job has been tried for too long, by this host's clock against that of whoever
 * added it. One without a time counts as such: anyone may have written it.
 */
export function isOutlived(job: { readonly timestamp: number }, now: number): boolean {
  return !(now - job.timestamp <= LONGEST_ON_DEMAND_MS);
}

/**
 * On-demand jobs in line or backing off, in one round trip that costs the same whatever the queue holds.
 * Jobs of dead workers are among them, and for a moment one whose time has come may count twice.
 */
export async function countOnDemand(redis: RedisClient, place: Place): Promise<number> {
  const wait = `${queuePrefix(place.prefix)}:${place.name}:wait`;
  const since = Date.now() - LONGEST_ON_DEMAND_MS;
  const replies = await redis.pipeline().llen(wait).zcount(putOffKey(place), since, '+inf').exec();
  return (replies ?? []).reduce((sum, [error, count]) => {
    if (error !== null) throw error;
    return sum + Number(count);
  }, 0);
}
