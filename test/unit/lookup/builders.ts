import type { ClusterDecision, ClusterWatch } from '../../../core/cluster.ts';
import type {
  RemoteEndpoint,
  RemoteService,
  RemoteSlice,
  RemoteWorkload,
} from '../../../core/remote-records.ts';
import { endpointSetOf, type EndpointSet } from '../../../lookup/endpoint-set.ts';

export function service(over: Partial<RemoteService> = {}): RemoteService {
  return {
    key: 'shop/web',
    uid: 'u-web',
    rv: '1',
    type: 'ClusterIP',
    headless: false,
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    ...over,
  };
}

export function slice(over: Partial<RemoteSlice> = {}): RemoteSlice {
  return {
    key: 'shop/web-1',
    uid: 'u-web-1',
    rv: '1',
    service: 'shop/web',
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [],
    ...over,
  };
}

export function endpoint(address: string, over: Partial<RemoteEndpoint> = {}): RemoteEndpoint {
  return { addresses: [address], ready: true, serving: true, terminating: false, ...over };
}

export function targetRef(kind: string, name: string): NonNullable<RemoteEndpoint['targetRef']> {
  return { kind, namespace: 'shop', name, uid: `u-${name}` };
}

/** The set of `shop/web` in cluster east. */
export function setOfSlices(
  slices: readonly RemoteSlice[],
  workloads: readonly RemoteWorkload[] = [],
  of = service(),
): EndpointSet {
  const byKey = new Map(workloads.map((workload) => [workload.key, workload]));
  return endpointSetOf({ cluster: 'east', service: of, slices, workloads: byKey });
}

export function endpointsIn(set: EndpointSet) {
  return Array.from(set.items.values(), ({ endpoint: one }) => one);
}

/** Of cluster east, accepted. */
export function decision(over: Partial<ClusterDecision> = {}): ClusterDecision {
  return {
    secret: 'tether/east',
    secretUid: 'u-east',
    createdAt: '2026-01-01T00:00:00Z',
    cluster: 'east',
    verdict: 'Accepted',
    reason: '',
    since: 0,
    attempts: 0,
    nextTryAt: null,
    hash: 'h',
    loadedAt: 0,
    accepted: {
      generation: 1,
      hash: 'h',
      server: 'east.example:6443',
      trustDomain: 'cluster.local',
      clusterDomain: 'cluster.local',
      expiresAt: null,
    },
    ...over,
  };
}

/** Of cluster east, which is served and in sync. */
export function watch(over: Partial<ClusterWatch> = {}): ClusterWatch {
  return {
    cluster: 'east',
    owner: 'watcher-1',
    at: 0,
    serving: 1,
    working: 1,
    healthy: true,
    reason: '',
    attempts: 0,
    nextTryAt: null,
    syncedAt: 0,
    objects: 3,
    ...over,
  };
}
