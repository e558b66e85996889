import type { Config } from '../../platform/config.ts';
import type { ClusterPolicy } from '../../platform/kube/cluster-secret.ts';

/** What the configuration lets cluster Secrets do. */
export function clusterPolicy(config: Config): ClusterPolicy {
  return {
    allowLoopback: config.clustersAllowLoopback,
    allowInsecureTls: config.clustersAllowInsecureTls,
    allowHosts: config.clustersAllowHosts,
  };
}
