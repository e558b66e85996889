import type { OptionName } from '../platform/config/options.ts';

/* Options of the configuration that go together, for the table of commands. */

export const KUBE: readonly OptionName[] = ['kubeconfig', 'context', 'requestTimeoutMs'];
export const REDIS: readonly OptionName[] = [
  'redisUrl',
  'redisPrefix',
  'redisCaFile',
  'redisCertFile',
  'redisKeyFile',
  'redisTlsServerName',
  'redisSentinelUser',
  'redisSentinelPassword',
];
export const LOG: readonly OptionName[] = ['logLevel', 'logFormat'];
export const HTTP: readonly OptionName[] = ['httpPort', 'httpHost'];
export const FILTER: readonly OptionName[] = ['includeNamespaces', 'excludeNamespaces'];
export const PLAN: readonly OptionName[] = [
  'manager',
  'adopt',
  'maxEndpointsPerSlice',
  'workloadsWithoutStatus',
  'undeclaredPorts',
  'workloadCidrsAllow',
  'workloadCidrsDeny',
];
/** What cluster Secrets may ask for: judged by workers, and again by watchers before they connect. */
export const CLUSTERS: readonly OptionName[] = [
  'namespace',
  'clustersAllowLoopback',
  'clustersAllowInsecureTls',
  'clustersAllowHosts',
];
const REMOTE: readonly OptionName[] = ['clustersAllowFqdn', 'clustersMaxObjects', 'clusterOwners'];
export const WATCHER: readonly OptionName[] = [
  ...FILTER,
  'resyncMs',
  'watchIdleMs',
  ...CLUSTERS,
  ...REMOTE,
];
export const WORKER: readonly OptionName[] = [
  ...PLAN,
  'concurrency',
  'drainMs',
  ...CLUSTERS,
  'clusterConcurrency',
];
export const TRIGGER: readonly OptionName[] = ['triggerToken', 'triggerTokenFile'];
export const LOOKUP: readonly OptionName[] = [
  'lookupAddr',
  'lookupToken',
  'lookupTokenFile',
  ...TRIGGER,
];
export const BOARD: readonly OptionName[] = [
  'boardAddr',
  'boardPassword',
  'boardPasswordFile',
  'boardWritable',
];
export const ROLE: readonly OptionName[] = [...REDIS, ...KUBE, ...HTTP, ...LOG];
