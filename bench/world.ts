import type { ApiEndpointSlice } from '../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../core/names.ts';

/** What a run of the benchmark loads: Services, each with so many workloads or Pods behind it. */
export interface World {
  /** Namespaces are called `PREFIX-0`, `PREFIX-1`, … */
  readonly prefix: string;
  readonly services: number;
  /** Workloads (or Pods) of each Service. */
  readonly per: number;
  /** That many namespaces share the Services out. */
  readonly namespaces: number;
  /** What stands behind a Service: workloads for Tether, Pods for Kubernetes' own controller. */
  readonly backing: 'workloads' | 'pods';
  /**
   * Whether each backing object is told to be ready by a second request. Without it a workload has no
   * status, which an option of Tether takes as ready.
   */
  readonly withStatus: boolean;
}

/** The Node that Pods are bound to: Kubernetes' controller leaves out a Pod whose Node it does not know. */
export const NODE_NAME = 'bench-node';
const PORT = 8080;
const SHARED_ADDRESS_SPACE_SECOND_BYTE = 64;

export function namespaceName(world: World, service: number): string {
  return `${world.prefix}-${service % world.namespaces}`;
}

export function serviceName(service: number): string {
  return `svc-${service}`;
}

export function backingName(service: number, nth: number): string {
  return `vm-${service}-${nth}`;
}

/** `namespace/name` */
export function serviceKey(world: World, service: number): string {
  return `${namespaceName(world, service)}/${serviceName(service)}`;
}

/** Each backing object has an address of its own, out of 100.64.0.0/10 (four million). */
export function addressOf(world: World, service: number, nth: number): string {
  const at = service * world.per + nth;
  const second = SHARED_ADDRESS_SPACE_SECOND_BYTE + (at >> 16);
  return `100.${second}.${(at >> 8) & 255}.${at & 255}`;
}

export function servicesPath(world: World, service: number): string {
  return `/api/v1/namespaces/${namespaceName(world, service)}/services`;
}

export function slicesPath(world: World, service: number): string {
  return `/apis/discovery.k8s.io/v1/namespaces/${namespaceName(world, service)}/endpointslices`;
}

/** Where the workloads or Pods of a Service's namespace are. */
export function backingPath(world: World, service: number): string {
  const namespace = namespaceName(world, service);
  return world.backing === 'pods'
    ? `/api/v1/namespaces/${namespace}/pods`
    : `/apis/workload.linkerd.io/v1beta1/namespaces/${namespace}/externalworkloads`;
}

export function serviceBody(service: number): object {
  const app = serviceName(service);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: app, labels: { app } },
    spec: {
      selector: { app },
      ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: PORT }],
    },
  };
}

export function backingBody(world: World, service: number, nth: number): object {
  return world.backing === 'pods' ? podBody(service, nth) : workloadBody(world, service, nth);
}

function workloadBody(world: World, service: number, nth: number): object {
  const name = backingName(service, nth);
  return {
    apiVersion: 'workload.linkerd.io/v1beta1',
    kind: 'ExternalWorkload',
    metadata: { name, labels: { app: serviceName(service) } },
    spec: {
      meshTLS: { identity: `spiffe://root.example/${name}`, serverName: `${name}.example` },
      workloadIPs: [{ ip: addressOf(world, service, nth) }],
      ports: [{ port: PORT, name: 'http', protocol: 'TCP' }],
    },
  };
}

function podBody(service: number, nth: number): object {
  const ports = [{ name: 'http', containerPort: PORT }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: backingName(service, nth), labels: { app: serviceName(service) } },
    spec: {
      nodeName: NODE_NAME,
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'x', ports }],
    },
  };
}

/** The first status of a backing object: it runs and is ready. */
export function firstStatus(world: World, service: number, nth: number): object {
  const { status } = readiness(true);
  if (world.backing === 'workloads') return { status };
  const ip = addressOf(world, service, nth);
  return { status: { ...status, phase: 'Running', podIP: ip, podIPs: [{ ip }] } };
}

/** A patch that says whether a backing object is ready. */
export function readiness(ready: boolean): { readonly status: object } {
  return { status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] } };
}

/** How `readiness` is to be sent: a Pod has other conditions, which must stay. */
export function readinessPatchType(world: World): string {
  return world.backing === 'pods'
    ? 'application/strategic-merge-patch+json'
    : 'application/merge-patch+json';
}

/** The slice that a controller would write for a Service. */
export function sliceBody(world: World, service: number): object {
  const namespace = namespaceName(world, service);
  const endpoints = Array.from({ length: world.per }, (_, nth) => ({
    addresses: [addressOf(world, service, nth)],
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: 'ExternalWorkload', namespace, name: backingName(service, nth) },
  }));
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `ceiling-${serviceName(service)}`,
      labels: { [LABEL_SERVICE_NAME]: serviceName(service), [LABEL_MANAGED_BY]: 'bench' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: PORT, protocol: 'TCP' }],
    endpoints,
  };
}

/**
 * The addresses that a slice offers and whether each is ready; empty when it does not offer the one
 * port that these Services have, as then it is of no use to anybody.
 */
export function offered(slice: ApiEndpointSlice): ReadonlyMap<string, boolean> {
  const ports = slice.ports ?? [];
  if (ports.length !== 1 || ports[0]?.port !== PORT) return new Map();
  return new Map(
    (slice.endpoints ?? []).flatMap(({ addresses = [], conditions }) =>
      addresses.map((address) => [address, conditions?.ready === true] as const),
    ),
  );
}
