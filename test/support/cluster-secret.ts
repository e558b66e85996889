import {
  ANNOTATION_CLUSTER_DOMAIN,
  ANNOTATION_TRUST_DOMAIN,
  CLUSTER_SECRET_TYPE,
  LABEL_CLUSTER_NAME,
} from '../../core/names.ts';

/** A Secret that links a cluster, as it is sent to an API server. */
export function clusterSecret(name: string, cluster: string, kubeconfig: string): object {
  return {
    metadata: {
      name,
      labels: { [LABEL_CLUSTER_NAME]: cluster },
      annotations: {
        [ANNOTATION_TRUST_DOMAIN]: 'cluster.local',
        [ANNOTATION_CLUSTER_DOMAIN]: 'cluster.local',
      },
    },
    type: CLUSTER_SECRET_TYPE,
    stringData: { kubeconfig },
  };
}
