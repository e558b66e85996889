import { formatKey } from '../../../core/object-key.ts';
import type { QueueName } from '../../../core/job.ts';
import { describeError } from '../../../core/errors.ts';
import type { Add, WorkQueue } from '../../redis/queue/work-queue.ts';
import type { Span, Tracer } from './tracer.ts';

/** The spans of one add. */
interface AddSpans {
  readonly add: Add;
  /** From the moment the change was seen; undefined for what a run adds. */
  readonly seen: Span | undefined;
  readonly enqueue: Span;
}

/**
 * The same queue; each event that is added begins a trace when its change was seen, and the job carries it to
 * whoever runs it. An add that becomes part of a job in line ends there: the job has the trace of its
 * first add. Resyncs begin no trace, as nothing was seen.
 */
export function traceAdds(
  queue: WorkQueue,
  name: QueueName,
  tracer: Tracer | undefined,
): WorkQueue {
  if (tracer === undefined) return queue;
  return {
    ...queue,
    addEvents: async (adds) => {
      const spans = adds.map((add) => startAdd(tracer, name, add));
      try {
        await queue.addEvents(
          spans.map(({ add, enqueue }) => ({ ...add, trace: enqueue.traceparent })),
        );
      } catch (error) {
        for (const { enqueue } of spans) enqueue.fail(describeError(error));
        throw error;
      } finally {
        for (const { seen, enqueue } of spans) {
          enqueue.end();
          seen?.end();
        }
      }
    },
  };
}

function startAdd(tracer: Tracer, queue: QueueName, add: Add): AddSpans {
  const { key, reason, at } = add;
  const attributes = { 'tether.key': formatKey(key), 'tether.reason': reason };
  const run = tracer.current();
  const seen = run === undefined ? tracer.start('watch event', { startedAt: at, attributes }) : run;
  const enqueue = tracer.start('enqueue', {
    kind: 'producer',
    parent: seen,
    attributes: {
      ...attributes,
      'messaging.system': 'bullmq',
      'messaging.destination.name': queue,
    },
  });
  return { add, seen: run === undefined ? seen : undefined, enqueue };
}
