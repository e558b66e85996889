import type { RedisClient } from '../client.ts';
import { loadClusterScript, runScript } from '../scripts.ts';
import { membersKey } from './keys.ts';

/**
 * Watcher processes say every `everyMs` that they live; one that was silent for `silentMs` is out, and
 * what it watched goes to others: within 3 s of a sudden death, with the time that a list takes.
 */
export const MEMBERSHIP = { everyMs: 500, silentMs: 1_800 } as const;

/** The watcher processes that share the linked clusters out among them. */
export interface ClusterMembers {
  /** Says that `id` lives; gives the ids of all that do, in one order for everybody. */
  beat(id: string): Promise<readonly string[]>;
  /** `id` is about to stop: others take over at their next beat. */
  leave(id: string): Promise<void>;
}

const beat = loadClusterScript('beat');

/** All methods reject with ioredis' error while Redis is away. */
export function createClusterMembers(redis: RedisClient, prefix: string): ClusterMembers {
  const key = membersKey(prefix);
  return {
    beat: async (id) => {
      const members = await runScript(redis, beat, [key], [id, MEMBERSHIP.silentMs]);
      return (members as string[]).toSorted();
    },
    leave: async (id) => void (await redis.zrem(key, id)),
  };
}
