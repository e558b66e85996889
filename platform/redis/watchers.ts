import type { Redis } from 'ioredis';
import { redisNow } from './now.ts';

/** What a watcher says of itself; `at` is by Redis' clock, ms, so that no two hosts' clocks meet. */
export interface WatcherBeat {
  readonly id: string;
  readonly at: number;
  readonly host: string;
  readonly pid: number;
  readonly states: Readonly<Record<string, string>>;
}

/** A watcher that was silent for longer is taken for dead, ms. */
const WATCHER_SILENCE_MS = 10_000;

function watchersKey(prefix: string): string {
  return `{${prefix}}:watchers`;
}

/** Says that a watcher lives; drops the entries of those that do not. */
export async function beatWatcher(
  redis: Redis,
  prefix: string,
  beat: Omit<WatcherBeat, 'at'>,
): Promise<void> {
  const at = await redisNow(redis);
  await redis.hset(watchersKey(prefix), beat.id, JSON.stringify({ ...beat, at }));
  const dead = (await readAll(redis, prefix)).filter((other) => at - other.at > 60_000);
  if (dead.length > 0) await redis.hdel(watchersKey(prefix), ...dead.map(({ id }) => id));
}

export async function forgetWatcher(redis: Redis, prefix: string, id: string): Promise<void> {
  await redis.hdel(watchersKey(prefix), id);
}

/** Watchers that were heard of within the last ten seconds. */
export async function liveWatchers(redis: Redis, prefix: string): Promise<WatcherBeat[]> {
  const [now, all] = await Promise.all([redisNow(redis), readAll(redis, prefix)]);
  return all.filter((beat) => now - beat.at <= WATCHER_SILENCE_MS);
}

async function readAll(redis: Redis, prefix: string): Promise<WatcherBeat[]> {
  const values = await redis.hvals(watchersKey(prefix));
  return values.map((value) => JSON.parse(value) as WatcherBeat);
}
