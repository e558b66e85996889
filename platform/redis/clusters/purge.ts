import type { RedisClient } from '../client.ts';
import { loadClusterScript, runScript } from '../scripts.ts';
import {
  changesChannel,
  clusterViewBase,
  clusterViewsBase,
  generationsKey,
  servingKey,
} from './keys.ts';

/** What is left over of linked clusters' views, and how it goes. */
export interface ClusterPurger {
  /** The generation that look-ups read; 0 while there is none. */
  serving(cluster: string): Promise<number>;
  /** Drops one generation, unless it is the one that serves. */
  purge(cluster: string, generation: number): Promise<void>;
  /** Drops every generation that is older than the one that serves. */
  purgeOlder(cluster: string): Promise<void>;
  /**
   * The cluster is gone: nothing is served any more, look-ups are told, and what it had is dropped, up
   * to a generation: a newer one belongs to a Secret that came since.
   */
  purgeCluster(cluster: string, upTo: number): Promise<void>;
}

const closeGenerations = loadClusterScript('close');
const purgeStep = loadClusterScript('purge-step');

/** Services whose sets one step drops, roughly: it keeps Redis for a millisecond or less. */
const SERVICES_A_STEP = 100;

type Which = 'one' | 'older' | 'gone';

/** All methods reject with ioredis' error while Redis is away; a purge that was cut short can be begun anew. */
export function createClusterPurger(redis: RedisClient, prefix: string): ClusterPurger {
  const close = async (cluster: string, which: Which, generation: number): Promise<number[]> => {
    const keys = [servingKey(prefix, cluster), generationsKey(prefix, cluster)];
    const before = clusterViewsBase(prefix, cluster);
    const args = [which, generation, before, changesChannel(prefix), cluster];
    return ((await runScript(redis, closeGenerations, keys, args)) as string[]).map(Number);
  };
  const drop = async (cluster: string, generation: number): Promise<void> => {
    const base = clusterViewBase(prefix, cluster, generation);
    const keys = [generationsKey(prefix, cluster)];
    let cursor = '0';
    do {
      const args = [base, generation, cursor, SERVICES_A_STEP];
      cursor = String(await runScript(redis, purgeStep, keys, args));
    } while (cursor !== '0');
  };
  const closeAndDrop = async (cluster: string, which: Which, upTo: number): Promise<void> => {
    for (const generation of await close(cluster, which, upTo)) await drop(cluster, generation);
  };
  return {
    serving: async (cluster) => Number((await redis.get(servingKey(prefix, cluster))) ?? 0),
    purge: (cluster, generation) => closeAndDrop(cluster, 'one', generation),
    purgeOlder: (cluster) => closeAndDrop(cluster, 'older', 0),
    purgeCluster: (cluster, upTo) => closeAndDrop(cluster, 'gone', upTo),
  };
}
