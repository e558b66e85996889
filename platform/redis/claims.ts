import type { RedisClient } from './client.ts';

/** Lets one of many processes do something once an interval; nobody holds it longer than that. */
export async function claimTurn(
  redis: RedisClient,
  prefix: string,
  what: string,
  who: string,
  intervalMs: number,
): Promise<boolean> {
  return (await redis.set(`{${prefix}}:turn:${what}`, who, 'PX', intervalMs, 'NX')) === 'OK';
}
