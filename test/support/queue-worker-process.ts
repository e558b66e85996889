/*
 * A worker process of a test: takes jobs of queue `service` with the scripted function until it is
 * killed, or until SIGTERM, which drains it. Its argument is WorkerProcessOptions as JSON.
 */
import { connectRedis } from '../../platform/redis/connect.ts';
import { startConsumer } from '../../platform/redis/queue/consumer.ts';
import { scriptedHandle } from './queue-scripted-handle.ts';

/** What a worker process of a test is told. */
export interface WorkerProcessOptions {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly worker: string;
  readonly concurrency: number;
  readonly failureRate?: number;
  readonly drainMs?: number;
}

const options = JSON.parse(process.argv[2] ?? '') as WorkerProcessOptions;
const write = (fields: object, message: string): void => {
  process.stderr.write(`${options.worker}: ${message} ${JSON.stringify(fields)}\n`);
};
const log = { debug: () => undefined, info: write, warn: write, error: write };
const redis = connectRedis(options.redisUrl, 'blocking', { log });
const consumer = startConsumer({
  redisUrl: options.redisUrl,
  prefix: options.prefix,
  concurrency: options.concurrency,
  name: 'service',
  log,
  handle: scriptedHandle(redis, options),
});

process.once('SIGTERM', () => {
  void consumer.drain(options.drainMs ?? 1000).then(({ unfinished }) => {
    redis.disconnect();
    process.stdout.write(`drained, ${unfinished} unfinished\n`);
    process.exit(0);
  });
});
process.stdout.write('started\n');
