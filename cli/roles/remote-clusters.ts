import type { ClusterDecision } from '../../core/cluster.ts';
import { namespacePredicate } from '../../core/namespace-filter.ts';
import { parseKey } from '../../core/object-key.ts';
import type { Config } from '../../platform/config.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { contentHash, readClusterSecret } from '../../platform/kube/cluster-secret.ts';
import { readSecret } from '../../platform/kube/secret-api.ts';
import { createClusterViewWriter } from '../../platform/redis/clusters/cluster-view-writer.ts';
import { createClusterMembers } from '../../platform/redis/clusters/members.ts';
import { createClusterPurger } from '../../platform/redis/clusters/purge.ts';
import { openRegistryFeed } from '../../platform/redis/clusters/registry-feed.ts';
import { createClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import { connectRedis } from '../../platform/redis/connect.ts';
import { ClusterManager } from '../../watcher/clusters/cluster-manager.ts';
import { LocalDiscovery } from '../../watcher/clusters/local-discovery.ts';
import { clusterPolicy } from './cluster-policy.ts';
import type { Runtime } from './runtime.ts';

/**
 * Requests to one linked cluster at a time; its watches have connections of their own. Where very many
 * clusters start at once, the start of connections is what takes the time.
 */
const CONNECTIONS = 2;
/** A page of a list is a megabyte or so; whatever is as large as this is no such page. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;

/** Listens along to the Services of the served cluster, for `startRemoteClusters`. */
export function createLocalDiscovery({
  includeNamespaces,
  excludeNamespaces,
}: Config): LocalDiscovery {
  const filter = { include: includeNamespaces, exclude: excludeNamespaces };
  return new LocalDiscovery(namespacePredicate(filter));
}

/** Watches this process' share of the linked clusters; waits for none of them. */
export function startRemoteClusters(
  runtime: Runtime,
  discovery: LocalDiscovery,
): { stop(): Promise<void> } {
  const { config, redis, redisUrl, log, metrics } = runtime;
  const prefix = config.redisPrefix;
  // The views' own: what a large cluster brings in must not stand in the way of anything else.
  const views = connectRedis(redisUrl, 'producer', { log });
  const manager = new ClusterManager({
    id: runtime.id,
    registry: createClusterRegistry(redis, prefix),
    members: createClusterMembers(redis, prefix),
    purger: createClusterPurger(views, prefix),
    openView: (cluster, generation) => {
      const maxObjects = config.clustersMaxObjects;
      return createClusterViewWriter(views, { prefix, cluster, generation, maxObjects });
    },
    connect: (decision, signal) => connectCluster(runtime, decision, signal),
    // Its connections are everybody's, so its end is not a cluster's.
    connectLocal: () => Promise.resolve({ ...runtime.client, close: () => Promise.resolve() }),
    localWanted: () => discovery.wanted(),
    owners: config.clusterOwners,
    maxObjects: config.clustersMaxObjects,
    allowFqdn: config.clustersAllowFqdn,
    idleMs: config.watchIdleMs,
    resyncMs: config.resyncMs,
    log,
    random: Math.random,
  });
  runtime.onRedisBack(() => manager.compareAll('the connection to Redis was lost'));
  metrics.cluster.watchesFrom(() => manager.counts());
  const stopListening = openRegistryFeed(redisUrl, prefix, () => manager.look(), log);
  return {
    stop: async () => {
      stopListening();
      await manager.stop();
      views.disconnect();
    },
  };
}

/**
 * A client of what was accepted of a cluster Secret. The credentials are read now and are nowhere but in
 * the client.
 *
 * @throws Error when the Secret holds something else by now: what was accepted of it is known to nobody.
 */
async function connectCluster(
  { client, config }: Runtime,
  { secret: key, accepted }: ClusterDecision,
  signal: AbortSignal,
): Promise<KubeClient> {
  const secret = await readSecret(client, parseKey(key), signal);
  if (secret === null || contentHash(secret) !== accepted?.hash) {
    throw new Error(
      `Secret ${key} no longer holds the content that was accepted; what it holds now has to be accepted first`,
    );
  }
  const { access, addressRule } = await readClusterSecret(secret, clusterPolicy(config));
  return createKubeClient(access, {
    connections: CONNECTIONS,
    timeoutMs: config.requestTimeoutMs,
    maxAnswerBytes: MOST_ANSWER_BYTES,
    ...(addressRule === undefined ? {} : { addressRule }),
  });
}
