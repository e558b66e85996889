/** Names that Kubernetes and Linkerd fixed, in one place. */
export const LABEL_SERVICE_NAME = 'kubernetes.io/service-name';
export const LABEL_MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
export const LABEL_HEADLESS = 'service.kubernetes.io/headless';
export const LABEL_ZONE = 'topology.kubernetes.io/zone';
export const ANNOTATION_TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';
export const ANNOTATION_TOPOLOGY_MODE = 'service.kubernetes.io/topology-mode';

/** The value of the managed-by label unless an option says otherwise. */
export const DEFAULT_MANAGER = 'tether-external-workloads';

export const WORKLOAD_GROUP = 'workload.linkerd.io';
export const WORKLOAD_KIND = 'ExternalWorkload';

/** What a cluster Secret is, and how a Service points into another cluster (Linkerd's names). */
export const CLUSTER_SECRET_TYPE = 'mirror.linkerd.io/remote-kubeconfig';
export const LABEL_CLUSTER_NAME = 'multicluster.linkerd.io/cluster-name';
export const ANNOTATION_TRUST_DOMAIN = 'multicluster.linkerd.io/trust-domain';
export const ANNOTATION_CLUSTER_DOMAIN = 'multicluster.linkerd.io/cluster-domain';
/** As a label: the cluster of a mirror Service. As an annotation: members of a federated Service. */
export const REMOTE_DISCOVERY = 'multicluster.linkerd.io/remote-discovery';
export const LABEL_REMOTE_SERVICE = 'multicluster.linkerd.io/remote-service';
export const ANNOTATION_LOCAL_DISCOVERY = 'multicluster.linkerd.io/local-discovery';

/** Stands for the served cluster among the linked ones; no Secret can claim it, as it is no DNS name. */
export const LOCAL_CLUSTER = '.local';
