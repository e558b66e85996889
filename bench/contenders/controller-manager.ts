import { join } from 'node:path';
import type { Contender } from './contender.ts';
import { startMeasured } from './process.ts';

/**
 * Kubernetes' own EndpointSlice controller, tuned: as shipped it writes 20 times a second. It serves
 * no metrics here, as those would cost a port and certificates.
 */
const FLAGS = [
  '--controllers=endpointslice-controller',
  '--concurrent-service-endpoint-syncs=16',
  '--kube-api-qps=5000',
  '--kube-api-burst=5000',
  '--leader-elect=false',
  '--secure-port=0',
  '--use-service-account-credentials=false',
  '-v=0',
];

/** kube-controller-manager with the EndpointSlice controller alone, and Pods behind the Services. */
export const controllerManager: Contender = {
  title: 'kube-controller-manager',
  backing: 'pods',
  start: (place) => {
    const args = [`--kubeconfig=${place.kubeconfig}`, ...FLAGS];
    const logFile = join(place.dir, 'peer.log');
    const child = startMeasured(place.controllerManager, args, {
      cwd: place.dir,
      logFile,
      env: {},
    });
    place.usage.track('controller', child.pid);
    return Promise.resolve({
      ...child,
      metrics: () => Promise.resolve(undefined),
      redisUrl: () => undefined,
    });
  },
};
