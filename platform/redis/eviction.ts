import { primariesOf, type RedisClient } from './client.ts';

/**
 * Whether Redis keeps every key also when its memory is full (`maxmemory-policy noeviction`); of a
 * Cluster: whether each of its masters does. Null where nobody tells. It is looked at when a process
 * starts; somebody may change it later.
 */
export async function readNoEviction(client: RedisClient): Promise<boolean | null> {
  const texts = await Promise.all(primariesOf(client).map((redis) => redis.info('memory')));
  const policies = texts.flatMap((text) => /^maxmemory_policy:(\S+)/m.exec(text)?.[1] ?? []);
  return policies.length === 0 ? null : policies.every((policy) => policy === 'noeviction');
}
