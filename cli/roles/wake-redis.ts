import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../core/logger.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { checkRedis } from '../../platform/redis/connect.ts';
import { isReply } from '../../platform/redis/reply-error.ts';

export interface WakeOptions {
  readonly redis: RedisClient;
  readonly log: Logger;
}

/** Redis answers within a millisecond, or three across a region. */
const ANSWER_MS = 250;

/**
 * Makes sure that Redis is there after the process may have been frozen: a connection that the other
 * side has given up meanwhile looks as if it stood, and a command on it would take two seconds to fail.
 *
 * @throws UnreachableError when Redis does not come back within five seconds.
 */
export async function wakeRedis({ redis, log }: WakeOptions): Promise<void> {
  if (redis.status === 'ready' && (await answers(redis))) return;
  if (redis.status === 'ready') await closed(redis);
  await checkRedis(redis, { log });
}

/** Ends the connection; another one is made at once. */
function closed(redis: RedisClient): Promise<void> {
  return new Promise((resolve) => {
    redis.once('close', () => resolve());
    redis.disconnect(true);
  });
}

async function answers(redis: RedisClient): Promise<boolean> {
  const waiting = new AbortController();
  const late = delay(ANSWER_MS, false, { signal: waiting.signal });
  late.catch(() => undefined);
  try {
    return await Promise.race([redis.ping().then(() => true), late]);
  } catch (error) {
    // Such as MISCONF, with a full disk: a new connection would hear the same.
    return isReply(error);
  } finally {
    waiting.abort();
  }
}
