import type { RedisClient } from '../client.ts';
import { queuePrefix, type QueueName } from '../../../core/job.ts';
import { loadQueueScript, runScript } from '../scripts.ts';
import { putOffKey } from './on-demand.ts';

const takeOut = loadQueueScript('take-out-namespace');

export interface TakenOut {
  /** Jobs that waited or backed off, and those of dead workers. */
  readonly taken: number;
  /** Jobs that a worker has in hand: each may be put off, or be followed by one more. */
  readonly running: number;
}

/**
 * Takes the jobs of one namespace out of a queue. With `running` 0 the queue holds none any more, until
 * somebody adds one.
 *
 * Redis is busy for one read of each job of the queue, of whatever namespace: for rare use.
 */
export async function takeOutNamespace(
  redis: RedisClient,
  place: { readonly prefix: string; readonly name: QueueName },
  namespace: string,
): Promise<TakenOut> {
  const base = `${queuePrefix(place.prefix)}:${place.name}:`;
  const lines = ['wait', 'prioritized', 'delayed', 'active'].map((key) => base + key);
  const reply = await runScript(redis, takeOut, [...lines, putOffKey(place)], [base, namespace]);
  const [taken, running] = reply as [number, number];
  return { taken, running };
}
