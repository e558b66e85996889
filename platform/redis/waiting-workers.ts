import { createBeats, type Beat, type Beats } from './beats.ts';
import type { RedisClient } from './client.ts';

/** A worker that takes no keys, as the API server does not answer it. */
export interface WaitingWorker extends Beat {
  /** One sentence for a person. */
  readonly reason: string;
  /** How long it had been so when it was told, ms. */
  readonly awayMs: number;
}

/** Words of workers that wait; of each outage anew. */
export function waitingBeats(redis: RedisClient, prefix: string): Beats<WaitingWorker> {
  return createBeats(redis, prefix, 'waiting-worker');
}
