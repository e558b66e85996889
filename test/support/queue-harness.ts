import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { silentLogger } from '../../core/logger.ts';
import { parseKey } from '../../core/object-key.ts';
import { spawnTied, type TiedChild } from '../../platform/process/tied-child.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { startConsumer, type Consumer } from '../../platform/redis/queue/consumer.ts';
import type { Handle } from '../../platform/redis/queue/disposition.ts';
import { openQueue, type Add, type WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { eventually } from './eventually.ts';
import { observed, scriptedHandle, type Seen, type Step } from './queue-scripted-handle.ts';
import type { WorkerProcessOptions } from './queue-worker-process.ts';
import { fromRun } from './run.ts';

const PROGRAM = join(import.meta.dirname, 'queue-worker-process.ts');

/** A worker process of a test. */
export interface WorkerProcess {
  readonly name: string;
  readonly child: TiedChild;
  /** All that it has written so far. */
  output(): string;
  /** SIGKILL, and a line in the record: its runs have ended. */
  kill(): Promise<void>;
}

/** A queue of a test's own, with workers whose runs the test plans and watches. */
export interface QueueHarness {
  readonly prefix: string;
  readonly redisUrl: string;
  readonly redis: RedisClient;
  readonly queue: WorkQueue;
  /** A worker in this process; `handle` instead of the scripted function. */
  startWorker(options?: {
    readonly concurrency?: number;
    readonly failureRate?: number;
    readonly handle?: Handle;
  }): Consumer;
  /** A worker in a process of its own; resolves once it has started. */
  spawnWorker(
    options?: Partial<Pick<WorkerProcessOptions, 'concurrency' | 'failureRate' | 'drainMs'>>,
  ): Promise<WorkerProcess>;
  /** What the next runs of a key do, in order. */
  plan(key: string, ...steps: readonly Step[]): Promise<void>;
  /** Ends the runs of a key that hold, and those to come. */
  release(key: string): Promise<void>;
  /** What the runs did so far, of one key or of all. */
  seen(key?: string): Promise<readonly Seen[]>;
  /** Waits until so many runs of a key began (or ended), and gives them. */
  untilSeen(
    key: string,
    what: Seen['what'],
    count: number,
    timeoutMs?: number,
  ): Promise<readonly Seen[]>;
  /** Waits until the queue holds no job that is to run. */
  untilIdle(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** One event of a key, as a watcher adds it. */
export function event(key: string, reason = 'test', at = Date.now()): Add {
  return { key: parseKey(key), reason, at };
}

/** Opens a queue under a prefix of its own, in the Redis of the test run or in another one. */
export async function openHarness(redisUrl = fromRun('redisUrl')): Promise<QueueHarness> {
  const prefix = `t-${randomUUID().slice(0, 8)}`;
  const log = silentLogger;
  const redis = connectRedis(redisUrl, 'blocking', { log });
  const producer = connectRedis(redisUrl, 'producer', { log });
  await Promise.all([checkRedis(redis, { log }), checkRedis(producer, { log })]);
  const queue = openQueue({ name: 'service', prefix, log, redis: producer });
  const workers = createWorkers(redis, redisUrl, prefix);
  return {
    prefix,
    redisUrl,
    redis,
    queue,
    startWorker: workers.start,
    spawnWorker: workers.spawn,
    ...createRecord(redis, prefix),
    untilIdle: (timeoutMs = 30_000) => untilIdle(queue, timeoutMs),
    close: async () => {
      await workers.endAll();
      await queue.close();
      producer.disconnect();
      redis.disconnect();
    },
  };
}

interface Workers {
  readonly start: QueueHarness['startWorker'];
  readonly spawn: QueueHarness['spawnWorker'];
  endAll(): Promise<void>;
}

function createWorkers(redis: RedisClient, redisUrl: string, prefix: string): Workers {
  const consumers: Consumer[] = [];
  const processes: WorkerProcess[] = [];
  return {
    start: ({ concurrency = 4, failureRate = 0, handle: own } = {}) => {
      const worker = `in-process-${consumers.length}`;
      const handle = own ?? scriptedHandle(redis, { prefix, worker, failureRate });
      const log = silentLogger;
      const options = { redisUrl, prefix, name: 'service', concurrency, log, handle } as const;
      const consumer = startConsumer(options);
      consumers.push(consumer);
      return consumer;
    },
    spawn: async (options = {}) => {
      const name = `process-${processes.length}`;
      const worker = await spawn(redis, {
        redisUrl,
        prefix,
        worker: name,
        concurrency: 4,
        ...options,
      });
      processes.push(worker);
      return worker;
    },
    endAll: async () => {
      await Promise.all(processes.map((worker) => worker.child.stop(0)));
      await Promise.all(consumers.map((consumer) => consumer.drain(0)));
    },
  };
}

type Record = Pick<QueueHarness, 'plan' | 'release' | 'seen' | 'untilSeen'>;

/** What runs are to do and what they did; both are in Redis. */
function createRecord(redis: RedisClient, prefix: string): Record {
  const seen: Record['seen'] = (key) => readSeen(redis, prefix, key);
  return {
    seen,
    plan: async (key, ...steps) => {
      await redis.rpush(observed.plan(prefix, key), ...steps.map((step) => JSON.stringify(step)));
    },
    release: async (key) => void (await redis.set(observed.released(prefix, key), '1')),
    untilSeen: (key, what, count, timeoutMs = 30_000) =>
      eventually(
        async () => {
          const lines = (await seen(key)).filter((line) => line.what === what);
          if (lines.length >= count) return lines;
          throw new Error(`${key}: ${lines.length} × ${what} instead of ${count}`);
        },
        { timeoutMs, intervalMs: 5 },
      ),
  };
}

async function untilIdle(queue: WorkQueue, timeoutMs: number): Promise<void> {
  await eventually(
    async () => {
      const { waiting, active, delayed, prioritized } = await queue.counts();
      if (waiting + active + delayed + prioritized === 0) return;
      const held = JSON.stringify({ waiting, active, delayed, prioritized });
      throw new Error(`the queue holds ${held}`);
    },
    { timeoutMs },
  );
}

async function spawn(redis: RedisClient, settings: WorkerProcessOptions): Promise<WorkerProcess> {
  const args = ['--no-warnings', PROGRAM, JSON.stringify(settings)];
  const child = spawnTied(process.execPath, args, { stdout: 'pipe', stderr: 'pipe' });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await eventually(() => {
    if (!output.includes('started')) throw new Error(`the worker has not started: ${output}`);
  });
  return {
    name: settings.worker,
    child,
    output: () => output,
    kill: async () => {
      await child.stop(0);
      const line = { what: 'killed', worker: settings.worker, key: '' };
      await redis.xadd(observed.runs(settings.prefix), '*', 'seen', JSON.stringify(line));
    },
  };
}

async function readSeen(
  redis: RedisClient,
  prefix: string,
  key?: string,
): Promise<readonly Seen[]> {
  const entries = await redis.xrange(observed.runs(prefix), '-', '+');
  const lines = entries.map(([id, fields]) => ({
    ...(JSON.parse(fields[1] ?? '{}') as Omit<Seen, 'time'>),
    time: Number(id.split('-')[0]),
  }));
  return key === undefined ? lines : lines.filter((line) => line.key === key);
}

/** Pairs of runs of one key that were under way at the same time, in living processes. */
export function overlapsIn(lines: readonly Seen[]): readonly string[] {
  const running = new Map<string, Seen>();
  const overlaps: string[] = [];
  for (const line of lines) {
    if (line.what === 'killed') {
      for (const [run, { worker }] of running) if (worker === line.worker) running.delete(run);
    } else if (line.what === 'start') {
      const others = [...running.values()].filter(({ key }) => key === line.key);
      overlaps.push(...others.map(({ run }) => `${line.key}: ${run} and ${line.run}`));
      running.set(line.run, line);
    } else {
      running.delete(line.run);
    }
  }
  return overlaps;
}
