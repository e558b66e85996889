import type { Redis } from 'ioredis';
import { primariesOf, type RedisClient } from './client.ts';
import { stuckKey } from './view/keys.ts';

/** Keys of one install, or of one namespace that it serves or served. */
export interface InstallKeys {
  count(): Promise<number>;
  /**
   * Gives how many were there; what is gone already is no error. Of a namespace, its Services are taken out of
   * the list of stuck keys as well: nobody runs them any more.
   */
  remove(): Promise<number>;
}

/** Keys a step of SCAN looks at, roughly: it keeps Redis for less than a millisecond. */
const SCAN_COUNT = 1_000;

/**
 * Every key carries the prefix in its hash tag, which a brace ends: an install called `tether` has none of
 * those of `tether-2`. A prefix has no character that a pattern could take for its own.
 *
 * @param namespace undefined: all keys of the install, its queues and linked clusters among them.
 */
export function installKeys(redis: RedisClient, prefix: string, namespace?: string): InstallKeys {
  const patterns =
    namespace === undefined ? [`{${prefix}}*`, `{${prefix}:*`] : [`{${prefix}:${namespace}}*`];
  const eachBatch = async (use: (node: Redis, keys: string[]) => Promise<void>): Promise<void> => {
    for (const node of primariesOf(redis)) {
      for (const pattern of patterns) {
        for await (const keys of scan(node, pattern)) await use(node, keys);
      }
    }
  };
  return {
    count: async () => {
      const found = new Set<string>();
      await eachBatch((_, keys) => {
        for (const key of keys) found.add(key);
        return Promise.resolve();
      });
      return found.size;
    },
    remove: async () => {
      let removed = 0;
      await eachBatch(async (node, keys) => {
        // One by one: of a Cluster's node they may be in different slots.
        const replies = await node.pipeline(keys.map((key) => ['unlink', key])).exec();
        for (const [error, count] of replies ?? []) {
          if (error !== null) throw error;
          removed += Number(count);
        }
      });
      if (namespace !== undefined) await forgetStuck(redis, prefix, namespace);
      return removed;
    },
  };
}

/** The list is of the whole install, and so under a key of its own. */
async function forgetStuck(redis: RedisClient, prefix: string, namespace: string): Promise<void> {
  const set = stuckKey(prefix);
  const members = await redis.smembers(set);
  const gone = members.filter((key) => key.startsWith(`${namespace}/`));
  if (gone.length > 0) await redis.srem(set, ...gone);
}

async function* scan(node: Redis, pattern: string): AsyncGenerator<string[], void, undefined> {
  let cursor = '0';
  do {
    const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT);
    if (keys.length > 0) yield keys;
    cursor = next;
  } while (cursor !== '0');
}
