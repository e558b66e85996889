import type { ApiObject } from '../../../core/api-objects.ts';
import { World, type Change, type Kind } from '../../fuzz/world.ts';

/** Objects of one namespace, as the store has them, for the checks of the fuzz. */

export const MANAGER = 'us';

export function service(spec: object = {}, labels: object = {}): object {
  return {
    metadata: { name: 'web', namespace: 'ns', uid: 'web-uid', labels },
    spec: {
      selector: { app: 'red' },
      clusterIP: '10.0.0.1',
      ipFamilies: ['IPv4'],
      ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
      ...spec,
    },
  };
}

export interface WorkloadInput {
  readonly ips?: readonly string[];
  readonly labels?: object;
  readonly ports?: readonly object[];
  readonly conditions?: readonly object[];
  readonly deletionTimestamp?: string;
}

export function workload(name: string, input: WorkloadInput = {}): object {
  const {
    ips = ['192.0.2.1'],
    labels = {},
    conditions = [{ type: 'Ready', status: 'True' }],
  } = input;
  const { ports = [{ name: 'http', port: 8080, protocol: 'TCP' }], deletionTimestamp } = input;
  return {
    metadata: {
      name,
      namespace: 'ns',
      uid: `${name}-uid`,
      labels: { app: 'red', ...labels },
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: { workloadIPs: ips.map((ip) => ({ ip })), ports },
    status: { conditions },
  };
}

/** An endpoint of a workload as it should be shown. */
export function endpoint(name: string, address = '192.0.2.1', ready = true): object {
  return {
    addresses: [address],
    conditions: { ready, serving: ready, terminating: false },
    targetRef: { kind: 'ExternalWorkload', namespace: 'ns', name, uid: `${name}-uid` },
  };
}

export interface SliceInput {
  readonly labels?: Readonly<Record<string, string>>;
  readonly port?: number;
  readonly owner?: string;
}

export function slice(name: string, endpoints: readonly object[], input: SliceInput = {}): object {
  const { labels = {}, port = 8080, owner = 'web-uid' } = input;
  return {
    metadata: {
      name,
      namespace: 'ns',
      labels: {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': MANAGER,
        ...labels,
      },
      ownerReferences: [{ kind: 'Service', name: 'web', uid: owner, controller: true }],
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port, protocol: 'TCP' }],
    endpoints,
  };
}

let revisions = 0;

/** One more change of the store; the versions go up. */
export function change(kind: Kind, name: string, object: object | null): Change {
  revisions += 1;
  return { revision: revisions, kind, namespace: 'ns', name, object: object as ApiObject | null };
}

export function worldOf(...changes: readonly Change[]): World {
  const world = new World(MANAGER);
  changes.forEach((one) => world.apply(one));
  return world;
}
