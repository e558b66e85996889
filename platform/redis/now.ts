import type { RedisClient } from './client.ts';
import { loadScript, runScript } from './scripts.ts';

const now = loadScript('now');

/**
 * µs since 1970 by Redis' clock, so that no two hosts' clocks meet: in a Cluster by that of the master
 * which has `key`. Times are to be compared with those alone that were told of the same hash tag.
 */
export async function redisMicros(client: RedisClient, key: string): Promise<number> {
  const [seconds, micros] = (await runScript(client, now, [key], [])) as [string, string];
  return Number(seconds) * 1e6 + Number(micros);
}

/** The same in ms. */
export async function redisNow(client: RedisClient, key: string): Promise<number> {
  return Math.floor((await redisMicros(client, key)) / 1000);
}
