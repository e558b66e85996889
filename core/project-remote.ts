import type { ApiObject } from './api-objects.ts';
import { judgeAddress } from './ip.ts';
import { LABEL_SERVICE_NAME } from './names.ts';
import { isDnsLabel, isDnsSubdomain } from './object-key.ts';
import type { EndpointPortRecord, Protocol } from './records.ts';
import type {
  RemoteEndpoint,
  RemoteService,
  RemoteServicePort,
  RemoteSlice,
  RemoteWorkload,
} from './remote-records.ts';

/*
 * A linked cluster's API object → what look-ups answer with. The other side is somebody else's: every
 * field is taken for anything at all, what is of the wrong type counts as absent, and texts have an end,
 * so that one strange object costs itself and nothing else.
 */

/** Null when the object has no name, version or UID that the view could go by. */
export function projectRemoteService(object: ApiObject): RemoteService | null {
  const identity = identityOf(object);
  if (identity === null) return null;
  const spec = fields(fields(object)['spec']);
  return {
    ...identity,
    type: text(spec['type'], MAX_NAME) ?? 'ClusterIP',
    headless: spec['clusterIP'] === 'None',
    ports: entries(spec['ports'], MAX_PORTS).flatMap((entry) => servicePort(entry) ?? []),
  };
}

export interface RemoteSliceOptions {
  /** Whether slices of host names belong into the view. */
  readonly allowFqdn: boolean;
}

/**
 * Null as well when no label names its Service, and for an address type that does not belong. Addresses
 * that no endpoint can have (loopback, link-local, no address at all) are left out, as the API server of
 * the other side should have done.
 */
export function projectRemoteSlice(
  object: ApiObject,
  { allowFqdn }: RemoteSliceOptions,
): RemoteSlice | null {
  const identity = identityOf(object);
  const slice = fields(object);
  const addressType = addressTypeOf(slice['addressType'], allowFqdn);
  const service = fields(fields(slice['metadata'])['labels'])[LABEL_SERVICE_NAME];
  if (identity === null || addressType === null) return null;
  if (typeof service !== 'string' || !isDnsSubdomain(service)) return null;
  const namespace = identity.key.slice(0, identity.key.indexOf('/'));
  return {
    ...identity,
    service: `${namespace}/${service}`,
    addressType,
    ports: entries(slice['ports'], MAX_PORTS).flatMap((entry) => slicePort(entry) ?? []),
    endpoints: entries(slice['endpoints'], MAX_ENDPOINTS).flatMap(
      (entry) => endpointOf(entry, addressType) ?? [],
    ),
  };
}

/** An ExternalWorkload of either API version; v1alpha1 spells `meshTls`. */
export function projectRemoteWorkload(object: ApiObject): RemoteWorkload | null {
  const identity = identityOf(object);
  if (identity === null) return null;
  const spec = fields(fields(object)['spec']);
  const mesh = { ...fields(spec['meshTls']), ...fields(spec['meshTLS']) };
  return {
    ...identity,
    ...optional('identity', mesh['identity'], MAX_TEXT),
    ...optional('serverName', mesh['serverName'], MAX_TEXT),
  };
}

/** What a deletion is about; null as above. */
export function remoteIdentity(object: ApiObject): Pick<RemoteService, 'key' | 'rv'> | null {
  return identityOf(object);
}

/** The API's own limits are lower, or these. */
const MAX_NAME = 253;
const MAX_TEXT = 1_024;
const MAX_PORTS = 20_000;
const MAX_ENDPOINTS = 1_000;
const MAX_ADDRESSES = 100;

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function entries(value: unknown, most: number): Fields[] {
  if (!Array.isArray(value)) return [];
  const list: unknown[] = value.length > most ? value.slice(0, most) : value;
  return list.filter((entry): entry is Fields => typeof entry === 'object' && entry !== null);
}

/** Undefined for what is no text, empty, or longer than `most`. */
function text(value: unknown, most: number): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= most ? value : undefined;
}

function optional<K extends string>(
  name: K,
  value: unknown,
  most = MAX_NAME,
): { readonly [P in K]?: string } {
  const found = text(value, most);
  return found === undefined ? {} : ({ [name]: found } as { readonly [P in K]?: string });
}

/** `rv` and `uid` are lines of a stored record: anything but such a version or UID would break it. */
const VERSION = /^\d{1,40}$/;
const UID = /^[\x21-\x7e]{1,128}$/;

function identityOf(object: ApiObject): Pick<RemoteService, 'key' | 'uid' | 'rv'> | null {
  const { namespace, name, uid, resourceVersion: rv } = fields(fields(object)['metadata']);
  if (typeof namespace !== 'string' || !isDnsLabel(namespace)) return null;
  if (typeof name !== 'string' || !isDnsSubdomain(name)) return null;
  if (typeof rv !== 'string' || !VERSION.test(rv)) return null;
  if (typeof uid !== 'string' || !UID.test(uid)) return null;
  return { key: `${namespace}/${name}`, uid, rv };
}

function addressTypeOf(value: unknown, allowFqdn: boolean): RemoteSlice['addressType'] | null {
  if (value === 'IPv4' || value === 'IPv6') return value;
  return value === 'FQDN' && allowFqdn ? value : null;
}

function protocolOf(value: unknown): Protocol | null {
  if (value === undefined || value === null || value === '') return 'TCP';
  return value === 'TCP' || value === 'UDP' || value === 'SCTP' ? value : null;
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;
}

function servicePort(entry: Fields): RemoteServicePort | null {
  const protocol = protocolOf(entry['protocol']);
  const port = entry['port'];
  if (protocol === null || !isPort(port)) return null;
  const name = text(entry['name'], MAX_NAME) ?? '';
  return { name, port, protocol, ...optional('appProtocol', entry['appProtocol']) };
}

/** A port without a number stands for every port. */
function slicePort(entry: Fields): EndpointPortRecord | null {
  const protocol = protocolOf(entry['protocol']);
  const port = entry['port'] ?? null;
  if (protocol === null || !(port === null || isPort(port))) return null;
  const name = text(entry['name'], MAX_NAME) ?? '';
  return { name, port, protocol, ...optional('appProtocol', entry['appProtocol']) };
}

/** Null when no address of it can be used. */
function endpointOf(entry: Fields, addressType: RemoteSlice['addressType']): RemoteEndpoint | null {
  const addresses = addressesOf(entry['addresses'], addressType);
  if (addresses.length === 0) return null;
  const conditions = fields(entry['conditions']);
  const targetRef = targetOf(fields(entry['targetRef']));
  return {
    addresses,
    ready: conditions['ready'] !== false,
    serving: conditions['serving'] !== false,
    terminating: conditions['terminating'] === true,
    ...optional('hostname', entry['hostname']),
    ...optional('zone', entry['zone']),
    ...optional('nodeName', entry['nodeName']),
    ...(targetRef === null ? {} : { targetRef }),
  };
}

function addressesOf(value: unknown, addressType: RemoteSlice['addressType']): string[] {
  if (!Array.isArray(value)) return [];
  const found: unknown[] = value.slice(0, MAX_ADDRESSES);
  return found.flatMap((address) => {
    if (typeof address !== 'string') return [];
    if (addressType === 'FQDN') return isDnsSubdomain(address) ? [address] : [];
    const verdict = judgeAddress(address);
    return verdict.usable && verdict.family === addressType ? [verdict.address] : [];
  });
}

function targetOf(ref: Fields): NonNullable<RemoteEndpoint['targetRef']> | null {
  const kind = text(ref['kind'], MAX_NAME);
  const namespace = text(ref['namespace'], MAX_NAME);
  const name = text(ref['name'], MAX_NAME);
  if (kind === undefined || namespace === undefined || name === undefined) return null;
  return { kind, namespace, name, ...optional('uid', ref['uid']) };
}
