import type { Redis } from 'ioredis';
import { primariesOf, type RedisClient } from './client.ts';
import { isReply } from './reply-error.ts';

/**
 * Whether Redis keeps every key also when its memory is full (`maxmemory-policy noeviction`); of a
 * Cluster: whether each of its masters does. Null where nobody tells. It is looked at when a process
 * starts; somebody may change it later.
 *
 * Rejects when Redis does not answer.
 */
export async function readNoEviction(client: RedisClient): Promise<boolean | null> {
  const policies = (await Promise.all(primariesOf(client).map(policyOf))).flatMap(
    (one) => one ?? [],
  );
  return policies.length === 0 ? null : policies.every((policy) => policy === 'noeviction');
}

async function policyOf(redis: Redis): Promise<string | null> {
  try {
    return /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1] ?? null;
  } catch (error) {
    // An answer all the same: this user may not ask.
    if (isReply(error)) return null;
    throw error;
  }
}
