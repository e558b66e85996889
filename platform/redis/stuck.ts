import type { RedisClient } from './client.ts';
import { stuckKey } from './view/keys.ts';

/** Keys (`ns/name`) that fail again and again, for status and metrics. */
export interface StuckKeys {
  add(key: string): Promise<void>;
  remove(key: string): Promise<void>;
  list(): Promise<string[]>;
}

export function createStuckKeys(redis: RedisClient, prefix: string): StuckKeys {
  const set = stuckKey(prefix);
  return {
    add: async (key) => void (await redis.sadd(set, key)),
    remove: async (key) => void (await redis.srem(set, key)),
    list: () => redis.smembers(set),
  };
}
