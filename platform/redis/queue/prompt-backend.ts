import type { loadWorker } from './bullmq.ts';

type BackendFactory = ReturnType<typeof loadWorker>['createRedisBackend'];

/** How long an idle worker blocks, s. Bounds how late a backed-off job of a dead worker can be. */
export const IDLE_BLOCK_S = 1;

/**
 * BullMQ's backend, but for what it does while there is little to do.
 *
 * - It never blocks for more than a second, also when it knows that the next job is due later. So the
 *   loop is seen to turn, and a connection that died is noticed.
 * - A job that woke the worker starts at once. BullMQ's loop looks for a second one first, and the first
 *   waits for that round trip. So this look is answered with "none", and is made as soon as the loop, the
 *   job running, wants to wait.
 *
 * No job is missed by that: whoever gets the answer, the loop's next wait ends at once.
 */
export function promptBackend(create: BackendFactory, progress: () => void): BackendFactory {
  return (name, opts, kind) => {
    const backend = create(name, opts, kind);
    const wait = backend.waitForJob.bind(backend);
    const look = backend.moveToActive.bind(backend);
    let woken = false;
    let mayPutOff = false;
    let owed = false;
    backend.waitForJob = async (seconds) => {
      const marker = owed ? null : await wait(Math.min(seconds, IDLE_BLOCK_S));
      woken = marker !== null;
      progress();
      return marker;
    };
    backend.moveToActive = async (...args) => {
      owed = mayPutOff;
      if (mayPutOff) {
        mayPutOff = false;
        return [];
      }
      const first = woken;
      woken = false;
      const taken = await look(...args);
      const [job] = taken as unknown[];
      mayPutOff = first && Boolean(job);
      return taken;
    };
    return backend;
  };
}
