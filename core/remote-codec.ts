import type { EndpointPortRecord, Protocol } from './records.ts';
import type {
  RemoteEndpoint,
  RemoteKind,
  RemoteService,
  RemoteSlice,
  RemoteWorkload,
} from './remote-records.ts';
import { splitRecord } from './record-lines.ts';

/*
 * How the view stores a record of a linked cluster: four lines, `rv`, `uid`, `service` and `body`;
 * `service` is the key of a slice's Service and '' for the other kinds. A record's own key is the field
 * that it is stored under. As projections are canonical, equal bodies are equal text: that is how the
 * scripts see whether anything changed for those who look up. What is the same for most endpoints, or
 * absent, is not written: a large cluster's view is as small as that.
 *
 * A change of this format raises CLUSTER_VIEW_SCHEMA of platform/redis/clusters/keys.ts.
 */

/** A record on its way into the view. */
export interface EncodedRemote {
  /** `namespace/name`. */
  readonly key: string;
  readonly rv: string;
  readonly uid: string;
  readonly service: string;
  readonly body: string;
}

const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP'];

export function encodeRemoteService(record: RemoteService): EncodedRemote {
  const { key, rv, uid, type, headless, ports } = record;
  const body = JSON.stringify([type, headless ? 1 : 0, ports.map(encodePort)]);
  return { key, rv, uid, service: '', body };
}

export function encodeRemoteSlice(record: RemoteSlice): EncodedRemote {
  const { key, rv, uid, service, addressType, ports, endpoints } = record;
  const namespace = key.slice(0, key.indexOf('/'));
  const body = JSON.stringify([
    addressType,
    ports.map(encodePort),
    endpoints.map((endpoint) => encodeEndpoint(endpoint, namespace)),
  ]);
  return { key, rv, uid, service, body };
}

export function encodeRemoteWorkload(record: RemoteWorkload): EncodedRemote {
  const { key, rv, uid, identity, serverName } = record;
  const body = JSON.stringify(trimmed([identity ?? '', serverName ?? '']));
  return { key, rv, uid, service: '', body };
}

/** @param key the field that the text is stored under. */
export function decodeRemoteService(key: string, text: string): RemoteService {
  const { rv, uid, body } = splitRecord(text);
  const [type, headless, ports] = JSON.parse(body) as [string, number, PortTuple[]];
  // A Service's port always has a number.
  const decoded = ports.map((port) => ({ ...decodePort(port), port: port[1] ?? 0 }));
  return { key, uid, rv, type, headless: headless === 1, ports: decoded };
}

/** @param key the field that the text is stored under. */
export function decodeRemoteSlice(key: string, text: string): RemoteSlice {
  const { rv, uid, index: service, body } = splitRecord(text);
  const [addressType, ports, endpoints] = JSON.parse(body) as [
    RemoteSlice['addressType'],
    PortTuple[],
    EndpointTuple[],
  ];
  const namespace = key.slice(0, key.indexOf('/'));
  return {
    key,
    uid,
    rv,
    service,
    addressType,
    ports: ports.map(decodePort),
    endpoints: endpoints.map((endpoint) => decodeEndpoint(endpoint, namespace)),
  };
}

/** @param key the field that the text is stored under. */
export function decodeRemoteWorkload(key: string, text: string): RemoteWorkload {
  const { rv, uid, body } = splitRecord(text);
  const [identity = '', serverName = ''] = JSON.parse(body) as string[];
  return { key, uid, rv, ...present({ identity, serverName }) };
}

type RemoteRecordOf = {
  readonly service: RemoteService;
  readonly slice: RemoteSlice;
  readonly workload: RemoteWorkload;
};

const DECODERS: { readonly [K in RemoteKind]: (key: string, text: string) => RemoteRecordOf[K] } = {
  service: decodeRemoteService,
  slice: decodeRemoteSlice,
  workload: decodeRemoteWorkload,
};

/** The record of this kind that is stored under `key` as `text`. */
export function decodeRemote<K extends RemoteKind>(
  kind: K,
  key: string,
  text: string,
): RemoteRecordOf[K] {
  return DECODERS[kind](key, text);
}

type PortTuple = readonly [
  name: string,
  port: number | null,
  protocol?: number,
  appProtocol?: string,
];

function encodePort({ name, port, protocol, appProtocol }: EndpointPortRecord): PortTuple {
  const index = PROTOCOLS.indexOf(protocol);
  if (appProtocol !== undefined) return [name, port, index, appProtocol];
  return index === 0 ? [name, port] : [name, port, index];
}

function decodePort([name, port, index = 0, appProtocol]: PortTuple): EndpointPortRecord {
  const protocol = PROTOCOLS[index] ?? 'TCP';
  return { name, port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) };
}

/** Absent texts are '' and those at the end are left out; so is the namespace of the slice itself. */
type EndpointTuple = readonly [
  addresses: string | readonly string[],
  conditions: number,
  kind?: string,
  name?: string,
  uid?: string,
  nodeName?: string,
  zone?: string,
  hostname?: string,
  namespace?: string,
];

const READY = 1;
const SERVING = 2;
const TERMINATING = 4;

function encodeEndpoint(endpoint: RemoteEndpoint, inNamespace: string): readonly unknown[] {
  const { addresses, nodeName = '', zone = '', hostname = '' } = endpoint;
  const [only] = addresses;
  const [kind, name, uid, elsewhere] = encodeTarget(endpoint.targetRef, inNamespace);
  const where = addresses.length === 1 ? only : addresses;
  const rest = [kind, name, uid, nodeName, zone, hostname, elsewhere];
  return trimmed([where, flagsOf(endpoint), ...rest]);
}

function flagsOf({ ready, serving, terminating }: RemoteEndpoint): number {
  return (ready ? READY : 0) | (serving ? SERVING : 0) | (terminating ? TERMINATING : 0);
}

type TargetTuple = readonly [kind: string, name: string, uid: string, namespace: string];

function encodeTarget(ref: RemoteEndpoint['targetRef'], inNamespace: string): TargetTuple {
  if (ref === undefined) return ['', '', '', ''];
  const { kind, name, uid = '', namespace } = ref;
  return [kind, name, uid, namespace === inNamespace ? '' : namespace];
}

function decodeEndpoint(tuple: EndpointTuple, inNamespace: string): RemoteEndpoint {
  const [addresses, flags, kind = '', name = '', uid = '', nodeName = '', zone = ''] = tuple;
  const [hostname = '', elsewhere = ''] = tuple.slice(7) as string[];
  const namespace = elsewhere === '' ? inNamespace : elsewhere;
  return {
    addresses: typeof addresses === 'string' ? [addresses] : addresses,
    ready: (flags & READY) !== 0,
    serving: (flags & SERVING) !== 0,
    terminating: (flags & TERMINATING) !== 0,
    ...present({ hostname, zone, nodeName }),
    ...(kind === '' ? {} : { targetRef: { kind, namespace, name, ...present({ uid }) } }),
  };
}

/** Without the empty texts at the end. */
function trimmed(values: readonly unknown[]): readonly unknown[] {
  return values.slice(0, values.findLastIndex((value) => value !== '') + 1);
}

/** Without the empty texts. */
function present<K extends string>(texts: Readonly<Record<K, string>>): { [P in K]?: string } {
  const some = Object.entries<string>(texts).filter(([, text]) => text !== '');
  return Object.fromEntries(some) as { [P in K]?: string };
}
