/*
 * Where linked clusters are in Redis. What is told of all clusters shares the install's hash tag; each
 * cluster's view has a tag of its own, so that a Redis Cluster spreads clusters over its masters.
 */

/** Hash: Secret (`namespace/name`) → ClusterDecision as JSON. */
export function decisionsKey(prefix: string): string {
  return `{${prefix}}:clusters`;
}

/** Hash: cluster → ClusterWatch as JSON. */
export function watchesKey(prefix: string): string {
  return `{${prefix}}:cluster-watches`;
}

/** The last number that an accepted content got, over all clusters, so that none comes twice. */
export function generationKey(prefix: string): string {
  return `{${prefix}}:cluster-generation`;
}

/** Counter: how many such numbers were given out. */
export function generationCountKey(prefix: string): string {
  return `{${prefix}}:cluster-generations`;
}

/** Sorted set: id of a watcher process → ms, by Redis' clock, when it was last heard of. */
export function membersKey(prefix: string): string {
  return `{${prefix}}:cluster-watchers`;
}

/** Lock of a cluster Secret (`namespace/name`): only its holder decides about it. */
export function clusterLockKey(prefix: string, secret: string): string {
  return `{${prefix}}:cluster-lock:${secret}`;
}

/** There for a second after somebody found that lock taken. */
export function clusterAwaitedKey(prefix: string, secret: string): string {
  return `{${prefix}}:cluster-awaited:${secret}`;
}

/** Hash: Secret → the state that people were told of last. */
export function toldKey(prefix: string): string {
  return `{${prefix}}:clusters-told`;
}

/** Pub/sub channel: a decision or a watch changed; the message is the Secret or the cluster. */
export function registryChannel(prefix: string): string {
  return `{${prefix}}:clusters-changed`;
}

/** Pub/sub channel: what changed in the views; messages are those of change-feed.ts. */
export function changesChannel(prefix: string): string {
  return `{${prefix}}:cluster-changes`;
}

/** Number of the generation that look-ups read; absent while none has synced. */
export function servingKey(prefix: string, cluster: string): string {
  return `${clusterTag(prefix, cluster)}:serving`;
}

/** Set: numbers of the generations that have keys, until the last of their keys is gone. */
export function generationsKey(prefix: string, cluster: string): string {
  return `${clusterTag(prefix, cluster)}:generations`;
}

const CLUSTER_VIEW_SCHEMA = 'v1';

/** What the names of the keys of one generation's view begin with. */
export function clusterViewBase(prefix: string, cluster: string, generation: number): string {
  return `${clusterViewsBase(prefix, cluster)}${generation}:`;
}

/** The same, up to the generation. */
export function clusterViewsBase(prefix: string, cluster: string): string {
  return `${clusterTag(prefix, cluster)}:${CLUSTER_VIEW_SCHEMA}:`;
}

/** Namespaces hold no colon, so this can be no namespace's tag (view/keys.ts). */
function clusterTag(prefix: string, cluster: string): string {
  return `{${prefix}:cluster:${cluster}}`;
}
