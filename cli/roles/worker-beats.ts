import { hostname } from 'node:os';
import { packageVersion } from '../../platform/package-file.ts';
import { BEAT_EVERY_MS } from '../../platform/redis/beats.ts';
import { workerBeats } from '../../platform/redis/watchers.ts';
import type { Runtime } from './runtime.ts';

/**
 * Says in Redis that this worker lives, and of which release it is, until `end`: who wants to remove everything
 * has to know, and who upgrades.
 */
export function startWorkerLife({ redis, config, id }: Runtime): { end(): Promise<void> } {
  const beats = workerBeats(redis, config.redisPrefix);
  const about = { id, host: hostname(), pid: process.pid, version: packageVersion() };
  const beat = (): void => {
    beats.beat(about).catch(() => undefined);
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
