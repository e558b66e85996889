import type { Add, WorkQueue } from '../../platform/redis/queue/work-queue.ts';

/** A queue as a watcher sees it, which tells the test what is added, and then adds it to `queue`, if any. */
export function toldQueue(onAdd: (add: Add) => Promise<void> | void, queue?: WorkQueue): WorkQueue {
  const tell = async (adds: readonly Add[]): Promise<void> => {
    for (const add of adds) await onAdd(add);
  };
  const notUsed = (): Promise<never> => Promise.reject(new Error('not used by a watcher'));
  return {
    addEvents: async (adds) => {
      await tell(adds);
      await queue?.addEvents(adds);
    },
    addResync: async (adds) => {
      await tell(adds);
      await queue?.addResync(adds);
    },
    countOnDemand: notUsed,
    close: () => Promise.resolve(),
    addOnDemand: notUsed,
    waitFor: notUsed,
    counts: notUsed,
    failedJobs: notUsed,
  };
}
