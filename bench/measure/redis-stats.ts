import { Redis } from 'ioredis';
import type { Counters } from './prometheus.ts';

/** What a Redis has counted so far. */
export interface RedisReading {
  /** Calls by command, those that scripts make included: Redis does not tell them apart. */
  readonly calls: Counters;
  /** Times that it read from a connection: commands that came together count once. */
  readonly reads: number;
  readonly usedMemoryMiB: number;
}

const BYTES_PER_MIB = 1024 * 1024;
/** Commands that run a script or function. */
const SCRIPTS = /^(evalsha|eval|fcall)(_ro)?$/;

/** Reads the counters of the Redis at this URL over a connection of its own. */
export async function readRedis(url: string): Promise<RedisReading> {
  const redis = new Redis(url, { lazyConnect: true, replyMapping: 'legacy' });
  try {
    await redis.connect();
    const [stats, commands, memory] = await Promise.all(
      ['stats', 'commandstats', 'memory'].map((section) => redis.info(section)),
    );
    return parseInfo([stats, commands, memory].join('\n'));
  } finally {
    redis.disconnect();
  }
}

/** Reads what `INFO stats`, `commandstats` and `memory` answer. */
export function parseInfo(text: string): RedisReading {
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  const calls = new Map<string, number>();
  for (const [, name = '', count] of text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    calls.set(name, Number(count));
  }
  return {
    calls,
    reads: field('total_reads_processed'),
    usedMemoryMiB: field('used_memory') / BYTES_PER_MIB,
  };
}

/** How many of these calls were scripts. */
export function scriptCalls(calls: Counters): number {
  return [...calls].reduce((sum, [name, count]) => (SCRIPTS.test(name) ? sum + count : sum), 0);
}
