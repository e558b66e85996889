import type { Worker, WorkerOptions } from 'bullmq';
import { setTimeout as delay } from 'node:timers/promises';
import {
  describeError,
  LockLostError,
  ShutdownError,
  type InvalidInputError,
} from '../../../core/errors.ts';
import { queuePrefix, type QueueName } from '../../../core/job.ts';
import type { Logger } from '../../../core/logger.ts';
import type { RedisAddress } from '../address.ts';
import { isUsable, type RedisClient } from '../client.ts';
import { connectConsumer } from '../connect.ts';
import { loadWorker } from './bullmq.ts';
import { startClockGuard } from './clock-guard.ts';
import type { Handle } from './disposition.ts';
import { IDLE_BLOCK_S, promptBackend } from './prompt-backend.ts';
import { createJobRunner, type JobRunner } from './run-job.ts';
import { KEEP_FAILED } from './settle-job.ts';
import { eventAdder } from './work-queue.ts';

export interface ConsumerOptions {
  readonly redisUrl: RedisAddress;
  /** TETHER_REDIS_PREFIX, without braces. */
  readonly prefix: string;
  readonly name: QueueName;
  /** How many jobs run at a time. */
  readonly concurrency: number;
  readonly log: Logger;
  /** Looks at one key. Should end soon after the signal is aborted; must not write after that. */
  readonly handle: Handle;
  /** A job was refused by its schema. */
  readonly onInvalid?: (jobId: string, error: InvalidInputError) => void;
  /** A job of a worker that died was put back. */
  readonly onStalled?: (jobId: string) => void;
}

export interface ConsumerHealth {
  /** Runs under way. */
  readonly active: number;
  /** How long the longest of them has been running; 0 when there is none. */
  readonly oldestActiveMs: number;
  /** Since a job was taken or ended, or since the empty queue was last looked at (every second). */
  readonly lastProgressMs: number;
  readonly connected: boolean;
  /** Between `pause` and `resume`: there is no progress to be seen. */
  readonly paused: boolean;
}

export interface Consumer {
  /**
   * Takes no more jobs until `resume`; those in line stay there, for other workers too, and those under
   * way go on. One job may still come: the one that was being waited for.
   */
  pause(): void;
  resume(): void;
  /**
   * Takes no more jobs, lets those under way end for `deadlineMs`, then aborts their signals and puts
   * them back, for another worker to take at once. A function that ignores its signal for a second is
   * left alone; its job comes back once this process has ended. Gives how many did not finish.
   */
  drain(deadlineMs: number): Promise<{ readonly unfinished: number }>;
  health(): ConsumerHealth;
}

/*
 * A job of a killed worker runs again after 1.5-2.2 s: its lock must expire, and be looked at. Longer
 * values make that gap longer; shorter ones mistake a busy event loop for a dead worker.
 */
const LOCK_MS = 2000;
const LOCK_RENEW_MS = 600;
const STALLED_CHECK_MS = 500;
/** BullMQ fails a job that was on a dying worker more often than this. No key is ever given up. */
const MAX_STALLED = 1_000_000_000;
/** After a failed fetch; BullMQ waits 15 s unless told otherwise. */
const FETCH_RETRY_MS = 200;
const COMPLAIN_EVERY_MS = 1000;
const CONNECTION_FAULT = /ECONN|EPIPE|ETIMEDOUT|Connection is closed|[Ss]ocket/;
/** From an aborted signal to giving the run up. */
const GRACE_MS = 1000;

/** Starts taking jobs from a queue, at once and until `drain`. */
export function startConsumer(options: ConsumerOptions): Consumer {
  const { redisUrl, prefix, name, log } = options;
  const bullmq = loadWorker();
  const waiting = `${queuePrefix(prefix)}:${name}:wait`;
  const redis = connectConsumer(redisUrl, waiting, { log });
  let progressAt = performance.now();
  const progress = (): void => {
    progressAt = performance.now();
  };
  const backend = () => worker.getBackend();
  const addEvent = eventAdder({ redis, prefix, name, log });
  const runner = createJobRunner({ ...options, redis, bullmq, backend, addEvent });
  const worker: Worker = new bullmq.Worker(
    name,
    async (job, token) => {
      progress();
      return await runner.process(job, token).finally(progress);
    },
    workerOptions(redis, options),
    promptBackend(bullmq.createRedisBackend, progress),
  );
  listen(worker, runner, options);
  const stopGuard = startClockGuard({ redis, prefix, name, log });
  return {
    ...pausing(worker, progress),
    drain: (deadlineMs) => {
      stopGuard();
      return drain(worker, runner, redis, deadlineMs);
    },
    health: () => {
      const now = performance.now();
      return {
        ...runsOf(runner, now),
        lastProgressMs: now - progressAt,
        connected: isUsable(redis, waiting),
        paused: worker.isPaused(),
      };
    },
  };
}

function runsOf(
  { active }: JobRunner,
  now: number,
): Pick<ConsumerHealth, 'active' | 'oldestActiveMs'> {
  const started = [...active.values()].map((run) => run.startedAt);
  const oldestActiveMs = started.length === 0 ? 0 : now - Math.min(...started);
  return { active: started.length, oldestActiveMs };
}

function pausing(worker: Worker, progress: () => void): Pick<Consumer, 'pause' | 'resume'> {
  return {
    // `true`: runs under way are not waited for. Neither of the two rejects.
    pause: () => void worker.pause(true),
    resume: () => {
      progress();
      void worker.resume();
    },
  };
}

function workerOptions(
  connection: RedisClient,
  { prefix, concurrency }: ConsumerOptions,
): WorkerOptions {
  return {
    connection,
    prefix: queuePrefix(prefix),
    concurrency,
    lockDuration: LOCK_MS,
    lockRenewTime: LOCK_RENEW_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: MAX_STALLED,
    drainDelay: IDLE_BLOCK_S,
    runRetryDelay: FETCH_RETRY_MS,
    // For jobs that end before their processor starts; run-job.ts sets it for each of the others.
    removeOnComplete: { count: 0 },
    removeOnFail: { count: KEEP_FAILED },
    // Not skipVersionCheck: BullMQ would take the server for an old one, whose blocking commands
    // wait for whole seconds.
  };
}

function listen(
  worker: Worker,
  runner: JobRunner,
  { log, name, onStalled }: ConsumerOptions,
): void {
  let complainedAt = -Infinity;
  worker.on('error', (error) => {
    const text = describeError(error);
    // The connection itself tells about outages, and whatever else happens may do so 5 times a second.
    const quiet =
      CONNECTION_FAULT.test(text) || performance.now() - complainedAt < COMPLAIN_EVERY_MS;
    if (!quiet) complainedAt = performance.now();
    log[quiet ? 'debug' : 'warn']({ queue: name }, `worker of queue ${name}: ${text}`);
  });
  worker.on('stalled', (jobId) => {
    log.info({ queue: name, job: jobId }, `job ${jobId} of a worker that died was put back`);
    onStalled?.(jobId);
  });
  // This process was paused, or cut off, for longer than its locks last.
  worker.on('lockRenewalFailed', (jobIds) => {
    for (const id of jobIds) {
      const run = runner.active.get(id);
      if (run !== undefined) run.controller.abort(new LockLostError(run.key));
    }
  });
}

async function drain(
  worker: Worker,
  runner: JobRunner,
  redis: RedisClient,
  deadlineMs: number,
): Promise<{ readonly unfinished: number }> {
  let ended = false;
  const closed = worker.close().then(
    () => (ended = true),
    () => (ended = true),
  );
  await within(closed, deadlineMs);
  const left = [...runner.active.values()];
  for (const run of left) run.controller.abort(new ShutdownError());
  if (!ended) await within(closed, GRACE_MS);
  for (const run of runner.active.values()) run.abandon();
  if (!ended) await within(closed, GRACE_MS);
  // Redis is away: what it was to be told cannot be told any more, and comes back by stalling.
  redis.disconnect();
  if (!ended) await within(closed, GRACE_MS);
  return { unfinished: left.length };
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const timer = new AbortController();
  const late = delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
  await Promise.race([work, late]);
  timer.abort();
}
