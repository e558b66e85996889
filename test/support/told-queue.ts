import type { Add, WorkQueue } from '../../platform/redis/queue/work-queue.ts';

/** A queue as a watcher sees it, which tells the test what is added and keeps nothing. */
export function toldQueue(onAdd: (add: Add) => void): WorkQueue {
  const add = (adds: readonly Add[]): Promise<void> => {
    adds.forEach(onAdd);
    return Promise.resolve();
  };
  const notUsed = (): Promise<never> => Promise.reject(new Error('not used by a watcher'));
  return {
    addEvents: add,
    addResync: add,
    countOnDemand: notUsed,
    close: () => Promise.resolve(),
    addOnDemand: notUsed,
    waitFor: notUsed,
    counts: notUsed,
    failedJobs: notUsed,
  };
}
