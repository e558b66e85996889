import type { RedisClient } from './client.ts';
import { failuresKey, stuckKey } from './view/keys.ts';

/** From so many failures in a row a key counts as stuck; it is retried at the cap all the same. */
export const STUCK_AFTER = 15;

/** Keys (`ns/name`) that fail again and again, for status and metrics. */
export interface StuckKeys {
  add(key: string): Promise<void>;
  remove(key: string): Promise<void>;
  /**
   * Those that have failed so often by their own count. A worker that dies between the two writes leaves a
   * key that is well among the stuck ones: such a key is dropped.
   */
  list(): Promise<string[]>;
}

export function createStuckKeys(redis: RedisClient, prefix: string): StuckKeys {
  const set = stuckKey(prefix);
  /** Of one namespace: its counts are one hash. */
  const stillStuck = async (namespace: string, names: readonly string[]): Promise<string[]> => {
    const counts = await redis.hmget(failuresKey(prefix, namespace), ...names);
    return names
      .filter((_, at) => Number(counts[at] ?? 0) >= STUCK_AFTER)
      .map((name) => `${namespace}/${name}`);
  };
  return {
    add: async (key) => void (await redis.sadd(set, key)),
    remove: async (key) => void (await redis.srem(set, key)),
    list: async () => {
      const members = await redis.smembers(set);
      const reads = [...byNamespace(members)].map(([namespace, names]) =>
        stillStuck(namespace, names),
      );
      const stuck = (await Promise.all(reads)).flat();
      const known = new Set(stuck);
      const well = members.filter((key) => !known.has(key));
      // Whoever may only read sees the right list all the same. A key that fails just now for the 15th time
      // and is dropped comes back with its next failure.
      if (well.length > 0) await redis.srem(set, ...well).catch(() => 0);
      return stuck;
    },
  };
}

function byNamespace(keys: readonly string[]): ReadonlyMap<string, string[]> {
  const found = new Map<string, string[]>();
  for (const key of keys) {
    const [namespace = '', name = ''] = key.split('/');
    const names = found.get(namespace);
    if (names === undefined) found.set(namespace, [name]);
    else names.push(name);
  }
  return found;
}
