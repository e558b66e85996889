import type { Redis } from 'ioredis';

/** ms since 1970 by Redis' clock, so that no two hosts' clocks meet. */
export async function redisNow(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}
