import { silentLogger } from '../../core/logger.ts';
import type { ObjectKey } from '../../core/object-key.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { openQueue } from '../../platform/redis/queue/work-queue.ts';
import { createStuckKeys } from '../../platform/redis/stuck.ts';

/** Looks at the service queue of an install from outside. */
export interface QueueProbe {
  /** What is in the queue or under way, by state; nothing when it is quiet. A stuck key counts. */
  busy(): Promise<Readonly<Record<string, number | readonly string[]>>>;
  /** As somebody who asks for a key. */
  ask(key: ObjectKey): Promise<void>;
  close(): Promise<void>;
}

export async function openQueueProbe(redisUrl: string, prefix: string): Promise<QueueProbe> {
  const log = silentLogger;
  const redis = connectRedis(redisUrl, 'producer', { log });
  await checkRedis(redis, { log });
  const queue = openQueue({ name: 'service', prefix, log, redis });
  return {
    busy: async () => {
      const { oldestWaitingMs: _, ...counts } = await queue.counts();
      const stuck = await createStuckKeys(redis, prefix).list();
      const all = { ...counts, ...(stuck.length > 0 ? { stuck } : {}) };
      return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== 0));
    },
    ask: async (key) => void (await queue.addOnDemand(key, 'somebody asks')),
    close: async () => {
      await queue.close();
      redis.disconnect();
    },
  };
}
