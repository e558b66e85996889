import type { RedisClient } from '../client.ts';
import { formatKey, type ObjectKey } from '../../../core/object-key.ts';
import { hasStoredEvent } from '../queue/stored-event.ts';
import { loadScript, runScript } from '../scripts.ts';
import type { Acquired, Finished } from '../view/service-view.ts';
import { clusterAwaitedKey, clusterLockKey } from './keys.ts';

/**
 * The locks of cluster Secrets, as functions/lease.ts takes them; nothing is read or counted along
 * with them. Methods reject with ioredis' error while Redis is away.
 */
export interface ClusterLock {
  acquire(key: ObjectKey, token: string, ttlMs: number): Promise<Acquired>;
  renew(key: ObjectKey, token: string, ttlMs: number): Promise<boolean>;
  finish(key: ObjectKey, token: string): Promise<Finished>;
  /**
   * Whether somebody wants the key looked at again: an event came while its job runs, or another run
   * found the lock taken within the last second. Says nothing about what has changed.
   */
  isAwaited(key: ObjectKey): Promise<boolean>;
}

const renewLock = loadScript('renew-lock');
const releaseLock = loadScript('release-lock');
/** Longer than a run that was locked out waits for its next try. */
const AWAITED_MS = 1_000;

export function createClusterLock(redis: RedisClient, prefix: string): ClusterLock {
  const lockOf = (key: ObjectKey): string => clusterLockKey(prefix, formatKey(key));
  const awaitedOf = (key: ObjectKey): string => clusterAwaitedKey(prefix, formatKey(key));
  return {
    acquire: async (key, token, ttlMs) => {
      const taken = await redis.set(lockOf(key), token, 'PX', ttlMs, 'NX');
      if (taken === 'OK') return { held: true, world: null };
      await redis.set(awaitedOf(key), '1', 'PX', AWAITED_MS);
      return { held: false, freeInMs: ttlMs };
    },
    renew: async (key, token, ttlMs) =>
      (await runScript(redis, renewLock, [lockOf(key)], [token, ttlMs])) === 1,
    finish: async (key, token) => {
      const held = (await runScript(redis, releaseLock, [lockOf(key)], [token])) === 1;
      return { held, failuresBefore: 0, failures: 0 };
    },
    isAwaited: async (key) => {
      const [stored, awaited] = await Promise.all([
        hasStoredEvent(redis, prefix, 'cluster', key),
        redis.exists(awaitedOf(key)),
      ]);
      return stored || awaited === 1;
    },
  };
}
