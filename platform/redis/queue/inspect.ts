import type { Job, Queue } from 'bullmq';
import type { RedisClient } from '../client.ts';
import { queuePrefix, type JobData, type QueueName } from '../../../core/job.ts';
import { loadQueueScript, runScript } from '../scripts.ts';
import { RESYNC_PRIORITY } from './classes.ts';

/** How much work a queue holds. */
export interface QueueCounts {
  /** On-demand jobs, and those of dead workers: next in line. */
  readonly waiting: number;
  readonly active: number;
  /** Backing off. */
  readonly delayed: number;
  /** Those of the delayed ones whose time has come: more than none for long only while no worker lives. */
  readonly due: number;
  /** Events and resyncs. */
  readonly prioritized: number;
  /** Refused for good and kept for inspection; at most 1,000. */
  readonly failed: number;
  /** Since the oldest job that could run was added, put off last, or due; 0 when there is none. */
  readonly oldestWaitingMs: number;
}

/** A job that was refused for good. */
export interface FailedJob {
  readonly id: string;
  readonly name: string;
  /** Its data as JSON, shortened to 200 characters. */
  readonly data: string;
  readonly reason: string;
  /** ms since 1970. */
  readonly failedAt: number;
}

const counts = loadQueueScript('counts');
const SHOWN = 200;

/** One round trip; the age is by this host's clock against that of whoever added the job. */
export async function countJobs(
  redis: RedisClient,
  prefix: string,
  name: QueueName,
): Promise<QueueCounts> {
  const base = `${queuePrefix(prefix)}:${name}:`;
  const keys = ['wait', 'active', 'delayed', 'prioritized', 'failed'].map((key) => base + key);
  const reply = await runScript(redis, counts, keys, [base, RESYNC_PRIORITY]);
  const [waiting, active, delayed, prioritized, failed, due, oldest] = reply as [
    ...[number, number, number, number, number, number],
    number | '',
  ];
  const oldestWaitingMs = oldest === '' ? 0 : Math.max(0, Date.now() - oldest);
  return { waiting, active, delayed, due, prioritized, failed, oldestWaitingMs };
}

/** Jobs that a worker could take at once. */
export function runnable({ waiting, prioritized, due }: QueueCounts): number {
  return waiting + prioritized + due;
}

/** The latest first. */
export async function failedJobs(
  queue: Queue<JobData>,
  limit: number,
): Promise<readonly FailedJob[]> {
  if (limit <= 0) return [];
  // Of a job whose hash was lost nothing but its id may be left, or not even that.
  const jobs: readonly (Partial<Job<JobData>> | undefined)[] = await queue.getFailed(0, limit - 1);
  return jobs.flatMap((job) => {
    if (job === undefined) return [];
    const data = JSON.stringify(job.data) ?? '';
    return {
      id: job.id ?? '',
      name: (job.name ?? '').slice(0, SHOWN),
      data: data.length > SHOWN ? `${data.slice(0, SHOWN)}…` : data,
      reason: job.failedReason ?? '',
      failedAt: job.finishedOn ?? 0,
    };
  });
}
