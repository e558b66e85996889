import { Command, type Cluster, type Redis } from 'ioredis';

/** What commands go through: a connection to one server, or one to each node of a Redis Cluster. */
export type RedisClient = Redis | Cluster;

export function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}

/** Connections to whoever takes writes now: the one server, or each master of a Cluster. */
export function primariesOf(client: RedisClient): readonly Redis[] {
  return isCluster(client) ? client.nodes('master') : [client];
}

/** `host:port`, or the path of a socket. */
export function addressOf({ options: { path, host, port } }: Redis): string {
  return path ?? `${host}:${port}`;
}

/** The master of a Cluster that has a key, as far as this client knows. */
export function masterOf(cluster: Cluster, key: string): Redis | undefined {
  const address = cluster.slots[new Command('exists', [key]).getSlot()]?.[0];
  return cluster.nodes('master').find((node) => addressOf(node) === address);
}

/** Whether a command about this key would be sent now, rather than wait for a connection. */
export function isUsable(client: RedisClient, key: string): boolean {
  if (client.status !== 'ready') return false;
  return !isCluster(client) || masterOf(client, key)?.status === 'ready';
}

/** Where clients go, for people: ioredis does not keep what a Cluster or a Sentinel set-up was opened with. */
const names = new WeakMap<RedisClient, string>();

/** Notes where a client goes: without user and password. */
export function nameClient<C extends RedisClient>(client: C, where: string): C {
  names.set(client, where);
  return client;
}

export function nameOf(client: RedisClient): string {
  return names.get(client) ?? (isCluster(client) ? 'a Cluster' : addressOf(client));
}
