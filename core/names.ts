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
