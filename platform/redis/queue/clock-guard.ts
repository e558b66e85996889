import type { RedisClient } from '../client.ts';
import { describeError } from '../../../core/errors.ts';
import { queuePrefix, type QueueName } from '../../../core/job.ts';
import type { Logger } from '../../../core/logger.ts';
import { loadQueueScript, runScript } from '../scripts.ts';

/** Clocks of hosts may differ by so much, ms, before it is anybody's business. */
const SLACK_MS = 1_000;
/** So late at most, ms, is a job pulled forward that a wrong clock put off for too long. */
const EVERY_MS = 2_000;
/** Jobs looked at, the latest first: whatever a clock that is ahead puts off is among them. */
const LOOK_AT = 100;

const pullForward = loadQueueScript('pull-forward');

export interface ClockGuardOptions {
  readonly redis: RedisClient;
  /** TETHER_REDIS_PREFIX, without braces. */
  readonly prefix: string;
  readonly name: QueueName;
  readonly log: Logger;
}

/**
 * Sees to it that no key waits for a host's clock: jobs that back off are due by Redis' clock at the
 * latest. Any worker does it for all. Gives what ends it.
 */
export function startClockGuard({ redis, prefix, name, log }: ClockGuardOptions): () => void {
  const base = `${queuePrefix(prefix)}:${name}:`;
  const keys = [`${base}delayed`, `${base}marker`];
  const look = async (): Promise<void> => {
    const moved = Number(await runScript(redis, pullForward, keys, [base, LOOK_AT, SLACK_MS]));
    if (moved === 0) return;
    const why = 'a host that puts jobs off has a clock that is ahead of Redis’; set it by NTP';
    log.warn({ queue: name, jobs: moved }, why);
  };
  const timer = setInterval(() => {
    look().catch((error: unknown) => {
      log.debug({ queue: name, error: describeError(error) }, 'could not look at delayed jobs');
    });
  }, EVERY_MS);
  return () => clearInterval(timer);
}
