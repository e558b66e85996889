import { createRequire } from 'node:module';
import type * as BullMQ from 'bullmq';

/*
 * BullMQ when it is needed, and by the file: its index also loads flows, sandboxes and a PostgreSQL
 * backend. Beyond ioredis (60 ms of CPU) the index takes 89 ms, Queue alone 66, both classes 71; with
 * Node's compile cache 73, 63 and 67. BullMQ has no `exports` map, and its version is pinned.
 */
const load = createRequire(import.meta.url);

/** The class that adds jobs. */
export function loadQueue(): typeof BullMQ.Queue {
  return (load('bullmq/dist/cjs/classes/queue.js') as Pick<typeof BullMQ, 'Queue'>).Queue;
}

/** The class that takes jobs, and what it needs. */
export function loadWorker(): Pick<
  typeof BullMQ,
  'Worker' | 'DelayedError' | 'UnrecoverableError' | 'createRedisBackend'
> {
  return {
    ...(load('bullmq/dist/cjs/classes/worker.js') as Pick<typeof BullMQ, 'Worker'>),
    ...(load('bullmq/dist/cjs/classes/errors/index.js') as Pick<
      typeof BullMQ,
      'DelayedError' | 'UnrecoverableError'
    >),
    ...(load('bullmq/dist/cjs/utils/create-backend.js') as Pick<
      typeof BullMQ,
      'createRedisBackend'
    >),
  };
}
