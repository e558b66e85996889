import type { Redis } from 'ioredis';
import type { ClusterDecision, ClusterWatch } from '../../../core/cluster.ts';
import { decisionsKey, generationKey, registryChannel, watchesKey } from './keys.ts';

/** A watch as its owner tells it; Redis' clock gives the times. */
export type WatchReport = Omit<ClusterWatch, 'at' | 'syncedAt'> & {
  /** Whether the serving generation is in sync now. */
  readonly inSync: boolean;
};

/**
 * What is known of every linked cluster. Writers tell `registryChannel` that something changed;
 * readers who may have missed that look again every second.
 */
export interface ClusterRegistry {
  decision(secret: string): Promise<ClusterDecision | null>;
  decisions(): Promise<ClusterDecision[]>;
  decide(decision: ClusterDecision): Promise<void>;
  /** The Secret is gone, or no cluster Secret any more. */
  forget(secret: string): Promise<void>;
  /** A number that no content had before. */
  nextGeneration(): Promise<number>;
  /** The last number that was given out; smaller than before only when Redis lost its data. */
  lastGeneration(): Promise<number>;
  watches(): Promise<ReadonlyMap<string, ClusterWatch>>;
  tellWatch(report: WatchReport): Promise<void>;
  forgetWatch(cluster: string): Promise<void>;
  /** ms since 1970 by Redis' clock. */
  now(): Promise<number>;
}

/** The registry of one install. All methods reject with ioredis' error while Redis is away. */
export function createClusterRegistry(redis: Redis, prefix: string): ClusterRegistry {
  const decisions = decisionsKey(prefix);
  const watches = watchesKey(prefix);
  const channel = registryChannel(prefix);
  const changed = async (name: string): Promise<void> => void (await redis.publish(channel, name));
  const now = async (): Promise<number> => {
    const [seconds, micros] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  };
  return {
    now,
    decision: async (secret) => parse<ClusterDecision>(await redis.hget(decisions, secret)),
    decisions: async () =>
      (await redis.hvals(decisions)).map((text) => JSON.parse(text) as ClusterDecision),
    decide: async (decision) => {
      await redis.hset(decisions, decision.secret, JSON.stringify(decision));
      await changed(decision.secret);
    },
    forget: async (secret) => {
      if ((await redis.hdel(decisions, secret)) > 0) await changed(secret);
    },
    nextGeneration: () => redis.incr(generationKey(prefix)),
    lastGeneration: async () => Number((await redis.get(generationKey(prefix))) ?? 0),
    watches: async () => {
      const all = Object.values(await redis.hgetall(watches));
      const read = all.map((text) => JSON.parse(text) as ClusterWatch);
      return new Map(read.map((watch) => [watch.cluster, watch]));
    },
    tellWatch: async ({ inSync, ...report }) => {
      const [at, before] = await Promise.all([now(), redis.hget(watches, report.cluster)]);
      const last = parse<ClusterWatch>(before);
      const syncedAt = inSync ? at : (last?.syncedAt ?? null);
      const watch: ClusterWatch = { ...report, at, syncedAt };
      await redis.hset(watches, report.cluster, JSON.stringify(watch));
      if (last === null || differs(last, watch)) await changed(report.cluster);
    },
    forgetWatch: async (cluster) => {
      if ((await redis.hdel(watches, cluster)) > 0) await changed(cluster);
    },
  };
}

/** What readers want to know at once; the rest they see at their next look. */
function differs(a: ClusterWatch, b: ClusterWatch): boolean {
  return (
    a.serving !== b.serving ||
    a.working !== b.working ||
    a.healthy !== b.healthy ||
    a.reason !== b.reason
  );
}

function parse<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}
