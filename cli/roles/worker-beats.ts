import { hostname } from 'node:os';
import { BEAT_EVERY_MS } from '../../platform/redis/beats.ts';
import { workerBeats } from '../../platform/redis/watchers.ts';
import type { Runtime } from './runtime.ts';

/** Says in Redis that this worker lives, until `end`: who wants to remove everything has to know. */
export function startWorkerLife({ redis, config, id }: Runtime): { end(): Promise<void> } {
  const beats = workerBeats(redis, config.redisPrefix);
  const beat = (): void => {
    beats.beat({ id, host: hostname(), pid: process.pid }).catch(() => undefined);
  };
  const timer = setInterval(beat, BEAT_EVERY_MS);
  beat();
  return {
    end: async () => {
      clearInterval(timer);
      await beats.forget(id).catch(() => undefined);
    },
  };
}
