import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { startPrivateRedis } from '../platform/redis/private-server.ts';

/** The Redis of one run, and what its processes are told of it. */
export interface DemoRedis {
  readonly url: string;
  /** Keeps this run apart from whatever else the Redis is used for. */
  readonly prefix: string;
  /** Ends it, or takes the keys of this run out of one that was given. */
  stop(): Promise<void>;
}

/** The Redis that TETHER_REDIS_URL names, else a private one. */
export async function openRedis(given: string | undefined): Promise<DemoRedis> {
  const prefix = `demo-${randomBytes(4).toString('hex')}`;
  if (given !== undefined && given !== '') {
    return { url: given, prefix, stop: () => removeKeys(given, prefix) };
  }
  const server = await startPrivateRedis();
  return { url: server.url, prefix, stop: () => server.stop() };
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  // A Redis that is gone has lost the keys already.
  redis.on('error', () => undefined);
  try {
    for await (const keys of redis.scanStream({ match: `{${prefix}*`, count: 1000 })) {
      const found = keys as string[];
      if (found.length > 0) await redis.del(...found);
    }
  } catch {
    // See above; the demo itself is over.
  } finally {
    redis.disconnect();
  }
}
