import type { RedisClient } from '../client.ts';
import type { ClusterDecision, ClusterWatch } from '../../../core/cluster.ts';
import type { ClusterSnapshot } from '../../../core/cluster-snapshot.ts';
import { redisNow } from '../now.ts';
import { loadClusterScript, runScript } from '../scripts.ts';
import {
  decisionsKey,
  generationCountKey,
  generationKey,
  registryChannel,
  watchesKey,
} from './keys.ts';

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
  /** A number that no content had before, greater than all of them, even if Redis lost its data. */
  nextGeneration(): Promise<number>;
  /** The last number that was given out; 0: none. */
  lastGeneration(): Promise<number>;
  /** How many were given out; smaller than before only when Redis lost its data. */
  generations(): Promise<number>;
  watches(): Promise<ReadonlyMap<string, ClusterWatch>>;
  /** All of it. */
  snapshot(): Promise<ClusterSnapshot>;
  tellWatch(report: WatchReport): Promise<void>;
  forgetWatch(cluster: string): Promise<void>;
  /** ms since 1970 by Redis' clock. */
  now(): Promise<number>;
}

/** The registry of one install. All methods reject with ioredis' error while Redis is away. */
export function createClusterRegistry(redis: RedisClient, prefix: string): ClusterRegistry {
  const changed = async (name: string): Promise<void> => {
    await redis.publish(registryChannel(prefix), name);
  };
  return { ...readsOf(redis, prefix), ...writesOf(redis, prefix, changed) };
}

type Reads = Pick<
  ClusterRegistry,
  | 'decision'
  | 'decisions'
  | 'watches'
  | 'now'
  | 'snapshot'
  | 'nextGeneration'
  | 'lastGeneration'
  | 'generations'
>;

const nextGeneration = loadClusterScript('next-generation');

function readsOf(redis: RedisClient, prefix: string): Reads {
  const [decisionsAt, watchesAt] = [decisionsKey(prefix), watchesKey(prefix)];
  const decisions = async (): Promise<ClusterDecision[]> =>
    (await redis.hvals(decisionsAt)).map((text) => JSON.parse(text) as ClusterDecision);
  const watches = async (): Promise<Map<string, ClusterWatch>> => {
    const all = (await redis.hvals(watchesAt)).map((text) => JSON.parse(text) as ClusterWatch);
    return new Map(all.map((watch) => [watch.cluster, watch]));
  };
  return {
    decisions,
    watches,
    now: () => redisNow(redis, decisionsAt),
    decision: async (secret) => parse<ClusterDecision>(await redis.hget(decisionsAt, secret)),
    snapshot: async () => {
      const reads = [decisions(), watches(), redisNow(redis, decisionsAt)] as const;
      const [decided, watched, now] = await Promise.all(reads);
      return { decisions: decided, watches: watched, now };
    },
    nextGeneration: async () => {
      const keys = [generationKey(prefix), generationCountKey(prefix)];
      return Number(await runScript(redis, nextGeneration, keys, []));
    },
    lastGeneration: async () => Number((await redis.get(generationKey(prefix))) ?? 0),
    generations: async () => Number((await redis.get(generationCountKey(prefix))) ?? 0),
  };
}

function writesOf(
  redis: RedisClient,
  prefix: string,
  changed: (name: string) => Promise<void>,
): Omit<ClusterRegistry, keyof Reads> {
  const [decisions, watches] = [decisionsKey(prefix), watchesKey(prefix)];
  return {
    decide: async (decision) => {
      await redis.hset(decisions, decision.secret, JSON.stringify(decision));
      await changed(decision.secret);
    },
    forget: async (secret) => {
      if ((await redis.hdel(decisions, secret)) > 0) await changed(secret);
    },
    tellWatch: async ({ inSync, ...report }) => {
      const [at, before] = await Promise.all([
        redisNow(redis, watches),
        redis.hget(watches, report.cluster),
      ]);
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
