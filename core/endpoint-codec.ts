import { WORKLOAD_KIND } from './names.ts';
import type { EndpointRecord } from './records.ts';

/*
 * Endpoints as the view stores them. A slice of a hundred endpoints is stored and read at each change
 * of one of them, so what all of ours have in common is left out: a third of the bytes of plain JSON.
 * What somebody else wrote differently (a node name, another kind, several hints) is stored as it is.
 */

type CompactEndpoint = readonly [
  addresses: readonly string[],
  conditions: number,
  workload: string,
  uid: string,
  hostname: string,
  zone: string,
  hint: string,
];

/** `namespace` is that of the compact endpoints' workloads. */
export interface EncodedEndpoints {
  readonly namespace: string;
  readonly endpoints: readonly (CompactEndpoint | EndpointRecord)[];
}

const READY = 1;
const SERVING = 2;
const TERMINATING = 4;

export function encodeEndpoints(endpoints: readonly EndpointRecord[]): EncodedEndpoints {
  const namespace = endpoints[0]?.targetRef?.namespace ?? '';
  return {
    namespace,
    endpoints: endpoints.map((endpoint) => compact(endpoint, namespace) ?? endpoint),
  };
}

export function decodeEndpoints({ namespace, endpoints }: EncodedEndpoints): EndpointRecord[] {
  return endpoints.map((endpoint) =>
    'addresses' in endpoint ? endpoint : expand(endpoint, namespace),
  );
}

/** Null when something of the endpoint would be lost. */
function compact(endpoint: EndpointRecord, namespace: string): CompactEndpoint | null {
  const { addresses, hostname = '', zone = '', hints, nodeName, foreign } = endpoint;
  const conditions = flagsOf(endpoint.conditions);
  const workload = workloadOf(endpoint, namespace);
  const zones = hints?.forZones ?? [];
  if (conditions === null || workload === null) return null;
  if (nodeName !== undefined || foreign || zones.length > 1) return null;
  return [addresses, conditions, ...workload, hostname, zone, zones[0]?.name ?? ''];
}

function workloadOf(
  { targetRef = {} }: EndpointRecord,
  inNamespace: string,
): readonly [name: string, uid: string] | null {
  const { kind, namespace, name, uid } = targetRef;
  if (kind !== WORKLOAD_KIND || namespace !== inNamespace) return null;
  return name === undefined || uid === undefined ? null : [name, uid];
}

function flagsOf({ ready, serving, terminating }: EndpointRecord['conditions']): number | null {
  if (ready === undefined || serving === undefined || terminating === undefined) return null;
  return (ready ? READY : 0) | (serving ? SERVING : 0) | (terminating ? TERMINATING : 0);
}

function expand(endpoint: CompactEndpoint, namespace: string): EndpointRecord {
  const [addresses, flags, name, uid, hostname, zone, hint] = endpoint;
  return {
    addresses,
    conditions: {
      ready: (flags & READY) !== 0,
      serving: (flags & SERVING) !== 0,
      terminating: (flags & TERMINATING) !== 0,
    },
    targetRef: { kind: WORKLOAD_KIND, namespace, name, uid },
    ...(hostname === '' ? {} : { hostname }),
    ...(zone === '' ? {} : { zone }),
    ...(hint === '' ? {} : { hints: { forZones: [{ name: hint }] } }),
  };
}
