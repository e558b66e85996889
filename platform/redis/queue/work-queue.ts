import type { JobsOptions, Queue } from 'bullmq';
import type { RedisClient } from '../client.ts';
import { describeError, InvalidInputError, UnreachableError } from '../../../core/errors.ts';
import { JOB_NAME, jobData, queuePrefix, type JobData, type QueueName } from '../../../core/job.ts';
import type { Logger } from '../../../core/logger.ts';
import type { ObjectKey } from '../../../core/object-key.ts';
import type { RedisAddress } from '../address.ts';
import { connectBeside, connectRedis } from '../connect.ts';
import { loadQueueScript, runScript } from '../scripts.ts';
import { loadQueue } from './bullmq.ts';
import { eventOptions, resyncOptions } from './classes.ts';
import { countJobs, failedJobs, type FailedJob, type QueueCounts } from './inspect.ts';
import { countOnDemand } from './on-demand.ts';
import { readOutcome, type JobReport } from './outcomes.ts';

/** One key to be looked at. */
export interface Add {
  readonly key: ObjectKey;
  /** Why, for logs; at most 1,000 characters. */
  readonly reason: string;
  /** When the change was seen, ms since 1970. Of the adds that become one run, the first is kept. */
  readonly at: number;
  /** W3C `traceparent`; as with `at`, the first is kept. */
  readonly trace?: string;
}

/** One queue, from the side of those who put work into it (docs/queue.md). */
export interface WorkQueue {
  /**
   * Something changed. Two round trips for each 500 adds; a worker may have the keys after the first.
   *
   * All methods: @throws UnreachableError when Redis is away, at once, or gives no answer within 2 s.
   * Adding again is always safe. @throws InvalidInputError for what no worker would take.
   */
  addEvents(adds: readonly Add[]): Promise<void>;
  /** Nothing is known to have changed: last in line. */
  addResync(adds: readonly Add[]): Promise<void>;
  /** Somebody asks: first in line. Gives the id to wait for. */
  addOnDemand(key: ObjectKey, reason: string): Promise<string>;
  /**
   * Waits for what comes of an on-demand job, on a connection of its own; a waiter that comes up to
   * two minutes late misses nothing. `pending` once `timeoutMs` is over.
   */
  waitFor(
    jobId: string,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<JobReport>;
  counts(): Promise<QueueCounts>;
  /** On-demand jobs that have not ended: in line, or backing off. */
  countOnDemand(): Promise<number>;
  /** Jobs that were refused for good, the latest first. */
  failedJobs(limit: number): Promise<readonly FailedJob[]>;
  close(): Promise<void>;
}

export interface OpenQueueOptions {
  readonly name: QueueName;
  /** TETHER_REDIS_PREFIX, without braces. */
  readonly prefix: string;
  readonly log: Logger;
  /** An address, or a connection of role `producer` that stays the caller's. */
  readonly redis: RedisAddress | RedisClient;
}

/** Bounds how long Redis is busy with one call (about 10 ms). */
const CHUNK = 500;

const orphans = loadQueueScript('free-orphans');

/** Opens a queue for adding and inspecting. Returns at once; the connection is made meanwhile. */
export function openQueue(options: OpenQueueOptions): WorkQueue {
  const { name, prefix, log } = options;
  const owned = isAddress(options.redis);
  const redis = isAddress(options.redis)
    ? connectRedis(options.redis, 'producer', { log })
    : options.redis;
  const queue = openBullQueue(redis, options);
  const context = { redis, queue, name, prefix };
  return {
    addEvents: (adds) => addAll(context, adds, eventOptions),
    addResync: (adds) => addAll(context, adds, resyncOptions),
    addOnDemand: async (key, reason) => {
      const data = jobData({ key, reason, at: Date.now() });
      const job = await orUnreachable(context, 'add a job', () => queue.add(JOB_NAME, data));
      if (job.id === undefined) throw new TypeError('BullMQ added a job without an id');
      return job.id;
    },
    waitFor: (jobId, waitOptions) => waitFor(context, jobId, waitOptions),
    counts: () => orUnreachable(context, 'count jobs', () => countJobs(redis, prefix, name)),
    countOnDemand: () =>
      orUnreachable(context, 'count on-demand jobs', () => countOnDemand(redis, { prefix, name })),
    failedJobs: (limit) =>
      orUnreachable(context, 'list failed jobs', () => failedJobs(queue, limit)),
    close: async () => {
      await queue.close();
      if (owned) redis.disconnect();
    },
  };
}

/** Adds an event on a connection of the caller's. For rare use: the queue is opened for each. */
export function eventAdder(options: OpenQueueOptions): (add: Add) => Promise<void> {
  return async (add) => {
    const queue = openQueue(options);
    try {
      await queue.addEvents([add]);
    } finally {
      await queue.close();
    }
  };
}

function isAddress(redis: OpenQueueOptions['redis']): redis is RedisAddress {
  return typeof redis === 'string' || !('status' in redis);
}

interface Context {
  readonly redis: RedisClient;
  readonly queue: Queue<JobData>;
  readonly name: QueueName;
  readonly prefix: string;
}

function openBullQueue(
  redis: RedisClient,
  { name, prefix, log }: OpenQueueOptions,
): Queue<JobData> {
  const QueueClass = loadQueue();
  const queue = new QueueClass<JobData>(name, {
    connection: redis,
    prefix: queuePrefix(prefix),
    // checkRedis has looked already, and says it better.
    skipVersionCheck: true,
  });
  // The connection itself tells about outages; without a listener they would end the process.
  queue.on('error', (error) => log.debug({ queue: name }, `queue: ${describeError(error)}`));
  return queue;
}

async function addAll(
  context: Context,
  adds: readonly Add[],
  optionsFor: (key: ObjectKey) => JobsOptions,
): Promise<void> {
  for (let from = 0; from < adds.length; from += CHUNK) {
    const jobs = adds
      .slice(from, from + CHUNK)
      .map((add) => ({ name: JOB_NAME, data: jobData(add), opts: optionsFor(add.key) }));
    await orUnreachable(context, `add ${jobs.length} jobs`, () => addJobs(context, jobs));
  }
}

type NewJob = Parameters<Queue<JobData>['addBulk']>[0][number];

/**
 * Adds jobs, and then frees keys that an orphaned job stands for: it has swallowed the add, and would
 * every later one, so what was freed is added again. In this order no worker waits for the look.
 */
async function addJobs(context: Context, jobs: NewJob[]): Promise<void> {
  await insert(context, jobs);
  const ids = jobs.map((job) => job.opts?.deduplication?.id ?? '');
  const freed = await freeOrphans(context, ids);
  if (freed.size === 0) return;
  await insert(
    context,
    jobs.filter((_, at) => freed.has(ids[at] ?? '')),
  );
}

/** A single job, as a single change brings it, needs no transaction around its script. */
async function insert({ queue }: Context, jobs: NewJob[]): Promise<void> {
  const [first] = jobs;
  if (first !== undefined && jobs.length === 1) {
    await queue.add(first.name, first.data, first.opts);
  } else {
    await queue.addBulk(jobs);
  }
}

async function freeOrphans(
  { redis, name, prefix }: Context,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const base = `${queuePrefix(prefix)}:${name}:`;
  const keys = ['wait', 'active', 'prioritized', 'delayed'].map((key) => base + key);
  return new Set((await runScript(redis, orphans, keys, [base, ...ids])) as string[]);
}

async function waitFor(
  { redis, prefix, name }: Context,
  jobId: string,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<JobReport> {
  const own = connectBeside(redis);
  try {
    return await readOutcome(own, { prefix, name, jobId }, options);
  } finally {
    own.disconnect();
  }
}

/** BullMQ would wait for the first connection for ever, whatever the connection's options say. */
async function orUnreachable<T>(
  { redis, name }: Context,
  what: string,
  command: () => Promise<T>,
): Promise<T> {
  const failed = (cause: unknown): UnreachableError =>
    new UnreachableError(`queue ${name}: ${what}`, cause);
  if (redis.status !== 'ready') throw failed(new Error(`not connected to Redis (${redis.status})`));
  try {
    return await command();
  } catch (error) {
    throw error instanceof InvalidInputError ? error : failed(error);
  }
}
