import { setTimeout as delay } from 'node:timers/promises';
import type { RedisClient } from '../../platform/redis/client.ts';
import { InvalidInputError } from '../../core/errors.ts';
import { formatKey } from '../../core/object-key.ts';
import type { ConsumedJob, Disposition, Handle } from '../../platform/redis/queue/run-job.ts';

/** What one run of a key is to do; without a step it completes at once. */
export interface Step {
  /** Runs until the test releases the key. */
  readonly hold?: boolean;
  /** With `hold`: pays no attention to the signal. */
  readonly deaf?: boolean;
  /** Blocks the event loop, as a long computation would. */
  readonly blockLoopMs?: number;
  /** Default: completes. */
  readonly end?: 'throw' | 'reject' | { readonly laterMs: number };
}

/** One line of what the runs of a test did, in the order of Redis. */
export interface Seen {
  readonly what: 'start' | 'end' | 'aborted' | 'killed';
  readonly worker: string;
  readonly run: string;
  readonly job: string;
  readonly key: string;
  readonly class: string;
  readonly reason: string;
  /** `at` of the job; empty without one. */
  readonly at: string;
  /** When it was seen, ms, by the server's clock. */
  readonly time: number;
}

export const observed = {
  runs: (prefix: string) => `{test:${prefix}}:runs`,
  plan: (prefix: string, key: string) => `{test:${prefix}}:plan:${key}`,
  released: (prefix: string, key: string) => `{test:${prefix}}:released:${key}`,
  /** How often a key was dirtied. */
  wanted: (prefix: string) => `{test:${prefix}}:wanted`,
  /** The highest of these numbers that a run which completed had seen when it began. */
  done: (prefix: string) => `{test:${prefix}}:done`,
};

const POLL_MS = 3;

/** Runs of different classes may end in another order than they began. */
const RAISE = `
local had = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if tonumber(ARGV[2]) > had then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end`;

/**
 * A reconcile function for tests: does what the test planned for the key, and writes down in Redis
 * what it does, where it outlives a kill.
 */
export function scriptedHandle(
  redis: RedisClient,
  options: { readonly prefix: string; readonly worker: string; readonly failureRate?: number },
): Handle {
  const { prefix, worker, failureRate = 0 } = options;
  let runs = 0;
  return async (job, signal) => {
    const key = formatKey(job.key);
    const run = `${worker}/${++runs}`;
    const line = (what: Seen['what']): string => JSON.stringify(lineOf(what, worker, run, job));
    const note = (what: Seen['what']): Promise<unknown> =>
      redis.xadd(observed.runs(prefix), '*', 'seen', line(what));
    // All or nothing: a kill in between would leave the step to the next run.
    const begun = await redis
      .multi()
      .hget(observed.wanted(prefix), key)
      .lpop(observed.plan(prefix, key))
      .xadd(observed.runs(prefix), '*', 'seen', line('start'))
      .exec();
    const [wanted, plan] = (begun ?? []).map(([, reply]) => reply as string | null);
    const step =
      typeof plan !== 'string' ? await randomStep(failureRate) : (JSON.parse(plan) as Step);
    await work(redis, observed.released(prefix, key), step, signal);
    if (signal.aborted && step.deaf !== true) {
      await note('aborted');
      throw signal.reason;
    }
    const ending = endingOf(step);
    if (ending.kind === 'complete' && typeof wanted === 'string') {
      await redis.eval(RAISE, 1, observed.done(prefix), key, wanted);
    }
    await note('end');
    if (step.end === 'throw') throw new Error('a bug in the function');
    return ending;
  };
}

function lineOf(what: Seen['what'], worker: string, run: string, job: ConsumedJob): object {
  return {
    what,
    worker,
    run,
    job: job.id,
    key: formatKey(job.key),
    class: job.class,
    reason: job.reason ?? '',
    at: String(job.at ?? ''),
  };
}

/** For the fuzz test: takes a moment, and fails now and then. */
async function randomStep(failureRate: number): Promise<Step> {
  if (failureRate === 0) return {};
  await delay(Math.random() * 30);
  return Math.random() < failureRate ? { end: { laterMs: 20 + Math.random() * 200 } } : {};
}

async function work(
  redis: RedisClient,
  released: string,
  step: Step,
  signal: AbortSignal,
): Promise<void> {
  if (step.blockLoopMs !== undefined) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, step.blockLoopMs);
    // Lets what waited for the loop happen first: the renewal of the lock.
    await delay(50);
  }
  while (step.hold === true && (step.deaf === true || !signal.aborted)) {
    if ((await redis.exists(released)) === 1) return;
    await delay(POLL_MS);
  }
}

function endingOf(step: Step): Disposition {
  if (typeof step.end === 'object') {
    return { kind: 'later', delayMs: step.end.laterMs, reason: 'planned failure' };
  }
  if (step.end === 'reject') {
    return { kind: 'reject', error: new InvalidInputError('planned', 'planned refusal') };
  }
  return { kind: 'complete', result: { planned: true } };
}
