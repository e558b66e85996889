import type { WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import type { QueueMetrics } from '../../platform/telemetry/metrics/queue-metrics.ts';

/** The same queue; the keys that this process adds to it are counted, but for those asked for on demand. */
export function countAdds(queue: WorkQueue, metrics: Pick<QueueMetrics, 'added'>): WorkQueue {
  return {
    ...queue,
    addEvents: async (adds) => {
      await queue.addEvents(adds);
      metrics.added(adds.length);
    },
    addResync: async (adds) => {
      await queue.addResync(adds);
      metrics.added(adds.length);
    },
  };
}
