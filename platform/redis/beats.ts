import type { RedisClient } from './client.ts';
import { redisNow } from './now.ts';

/** What a process says of itself; `at` is by Redis' clock, ms, so that no two hosts' clocks meet. */
export interface Beat {
  readonly id: string;
  readonly at: number;
  readonly host: string;
  readonly pid: number;
  /** Its release; absent in what one says that did not tell it yet. */
  readonly version?: string;
}

/** Processes of a role, each with when it was last heard of. */
export interface Beats<T extends Beat> {
  /** Says that a process lives; drops the entries of those that do not. */
  beat(entry: Omit<T, 'at'> & Pick<Beat, 'id'>): Promise<void>;
  forget(id: string): Promise<void>;
  /** Those that were heard of within the last ten seconds. */
  live(): Promise<T[]>;
}

/** Milliseconds from one word of a process to its next. */
export const BEAT_EVERY_MS = 3_000;
/** A process that was silent for longer is taken for dead, ms. */
const BEAT_SILENCE_MS = 10_000;
/** An entry that is older is nobody's any more, ms. */
const FORGOTTEN_AFTER_MS = 60_000;

/** @param role whose: `watcher`, `worker`. */
export function createBeats<T extends Beat>(
  redis: RedisClient,
  prefix: string,
  role: string,
): Beats<T> {
  const key = `{${prefix}}:${role}s`;
  const readAll = async (): Promise<T[]> =>
    (await redis.hvals(key)).map((value) => JSON.parse(value) as T);
  const forgotten = new Set<string>();
  return {
    beat: async (entry) => {
      const at = await redisNow(redis, key);
      // Forgotten while this beat was under way.
      if (forgotten.has(entry.id)) return;
      await redis.hset(key, entry.id, JSON.stringify({ ...entry, at }));
      const dead = (await readAll()).filter((other) => at - other.at > FORGOTTEN_AFTER_MS);
      if (dead.length > 0) await redis.hdel(key, ...dead.map(({ id }) => id));
    },
    forget: async (id) => {
      forgotten.add(id);
      await redis.hdel(key, id);
    },
    live: async () => {
      const [now, all] = await Promise.all([redisNow(redis, key), readAll()]);
      return all.filter((beat) => now - beat.at <= BEAT_SILENCE_MS);
    },
  };
}
