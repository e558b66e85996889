import { shortHash } from '../core/hash.ts';
import { WORKLOAD_KIND } from '../core/names.ts';
import type { EndpointPortRecord } from '../core/records.ts';
import type {
  RemoteEndpoint,
  RemoteService,
  RemoteServicePort,
  RemoteSlice,
  RemoteWorkload,
} from '../core/remote-records.ts';

/*
 * What a look-up answers with, made from records alone: no clock, no I/O. Two processes that read the
 * same records make the same set with the same version, whichever generation the records are from.
 */

/** A port of an endpoint; `port` is null where every port is meant. */
export interface EndpointPort {
  readonly port: number | null;
  readonly protocol: string;
  readonly appProtocol?: string;
}

/** One address of one backend. What is not known is absent, never empty. */
export interface Endpoint {
  /** Names the endpoint within its set: of its cluster, Service, address and target. */
  readonly id: string;
  readonly cluster: string;
  readonly address: string;
  /** Addresses of two families are never mixed: a dual-stack backend has an endpoint of each. */
  readonly family: RemoteSlice['addressType'];
  /** By name; an unnamed port is ''. */
  readonly ports: Readonly<Record<string, EndpointPort>>;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly zone?: string;
  readonly nodeName?: string;
  readonly hostname?: string;
  readonly targetRef?: NonNullable<RemoteEndpoint['targetRef']>;
  /** mTLS identity and server name of an ExternalWorkload. */
  readonly identity?: string;
  readonly serverName?: string;
}

/** An endpoint with its JSON text, which is made once for all answers that hold it. */
export interface Item {
  readonly endpoint: Endpoint;
  readonly text: string;
}

/** What is the same for all endpoints of a Service. */
export interface ServiceFacts {
  readonly type: string;
  readonly headless: boolean;
  readonly ports: readonly RemoteServicePort[];
}

/** All endpoints of a Service at one moment. Never changed once made. */
export interface EndpointSet {
  readonly facts: ServiceFacts;
  /** By id, in the order of ids. */
  readonly items: ReadonlyMap<string, Item>;
  /** Of the content: equal for equal sets, in every process. */
  readonly version: string;
}

/** The records that one Service's answer is made of. */
export interface ServiceRecords {
  readonly cluster: string;
  readonly service: RemoteService;
  readonly slices: readonly RemoteSlice[];
  readonly workloads: ReadonlyMap<string, RemoteWorkload>;
}

/** The set of one Service of one cluster. */
export function endpointSetOf(records: ServiceRecords): EndpointSet {
  const { cluster, service, slices, workloads } = records;
  const items = new Map<string, Item>();
  // A fixed order, so that an endpoint that is in two slices comes out the same everywhere.
  for (const slice of slices.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    for (const bare of itemsOfSlice(cluster, slice)) {
      const item = withIdentity(bare, workloads);
      const same = items.get(item.endpoint.id);
      items.set(item.endpoint.id, same === undefined ? item : merged(same, item));
    }
  }
  const { type, headless, ports } = service;
  return setOf({ type, headless, ports }, items.values());
}

/** A set of these items; of several with one id the last is kept. */
export function setOf(facts: ServiceFacts, items: Iterable<Item>): EndpointSet {
  const sorted = Array.from(items).sort((a, b) => (a.endpoint.id < b.endpoint.id ? -1 : 1));
  const texts = sorted.map(({ text }) => text);
  return {
    facts,
    items: new Map(sorted.map((item) => [item.endpoint.id, item])),
    version: shortHash(`${JSON.stringify(facts)}\n${texts.join('\n')}`, VERSION_LENGTH),
  };
}

const VERSION_LENGTH = 16;
const ID_LENGTH = 16;

function itemOf(endpoint: Endpoint): Item {
  return { endpoint, text: JSON.stringify(endpoint) };
}

/** Slices that did not change are the same objects from one reading to the next. */
const known = new WeakMap<RemoteSlice, { readonly cluster: string; readonly items: Item[] }>();

function itemsOfSlice(cluster: string, slice: RemoteSlice): readonly Item[] {
  const before = known.get(slice);
  if (before?.cluster === cluster) return before.items;
  const ports = portsOf(slice.ports);
  const items = slice.endpoints.flatMap((endpoint) =>
    endpoint.addresses.map((address) =>
      itemOf(endpointOf(endpoint, { cluster, slice, address, ports })),
    ),
  );
  known.set(slice, { cluster, items });
  return items;
}

interface Place {
  readonly cluster: string;
  readonly slice: RemoteSlice;
  readonly address: string;
  readonly ports: Endpoint['ports'];
}

function endpointOf(from: RemoteEndpoint, { cluster, slice, address, ports }: Place): Endpoint {
  const { targetRef, zone, nodeName, hostname, ready, serving, terminating } = from;
  const { kind = '', namespace = '', name = '', uid = '' } = targetRef ?? {};
  const target = [kind, namespace, name, uid].join('/');
  return {
    id: shortHash(`${cluster} ${slice.service} ${address} ${target}`, ID_LENGTH),
    cluster,
    address,
    family: slice.addressType,
    ports,
    ready,
    serving,
    terminating,
    ...(zone === undefined ? {} : { zone }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}

/** Sorted by name; names come from elsewhere, so that none may be a property of every object. */
function portsOf(ports: readonly EndpointPortRecord[]): Endpoint['ports'] {
  const sorted = ports.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return Object.fromEntries(
    sorted.map(({ name, port, protocol, appProtocol }) => [
      name,
      { port, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) },
    ]),
  );
}

function withIdentity(item: Item, workloads: ServiceRecords['workloads']): Item {
  const { targetRef } = item.endpoint;
  if (targetRef?.kind !== WORKLOAD_KIND) return item;
  const workload = workloads.get(`${targetRef.namespace}/${targetRef.name}`);
  const { identity, serverName } = workload ?? {};
  if (identity === undefined && serverName === undefined) return item;
  return itemOf({
    ...item.endpoint,
    ...(identity === undefined ? {} : { identity }),
    ...(serverName === undefined ? {} : { serverName }),
  });
}

/**
 * A backend may be in two slices: each with some of its ports, or for a moment while it moves from one
 * to the other. All ports count, and of its conditions those by which it is ready.
 */
function merged(a: Item, b: Item): Item {
  const [better, other] = a.endpoint.ready && !b.endpoint.ready ? [a, b] : [b, a];
  const ports = { ...other.endpoint.ports, ...better.endpoint.ports };
  const names = Object.keys(ports).sort();
  return itemOf({
    ...better.endpoint,
    ports: Object.fromEntries(names.flatMap((name) => [[name, ports[name] ?? NO_PORT]])),
  });
}

const NO_PORT: EndpointPort = { port: null, protocol: 'TCP' };

type Narrowed = Map<string, EndpointSet | null>;

/** By port; it goes with the set that it was made of. */
const narrowed = new WeakMap<EndpointSet, Narrowed>();
/** Anybody may ask for any port, there or not. */
const MOST_PORTS = 100;

/**
 * The set as somebody sees it who asks for one port, by its name or number: only endpoints that have
 * it, and only that port of them. A number is that of the Service; where the Service has none such, of
 * an endpoint. Null when nothing has such a port. Made once for each set.
 */
export function onlyPort(set: EndpointSet, asked: string): EndpointSet | null {
  let byPort = narrowed.get(set);
  if (byPort === undefined) narrowed.set(set, (byPort = new Map()));
  const known = byPort.get(asked);
  if (known !== undefined) return known;
  if (byPort.size >= MOST_PORTS) byPort.clear();
  const made = narrow(set, asked);
  byPort.set(asked, made);
  return made;
}

function narrow(set: EndpointSet, asked: string): EndpointSet | null {
  const number = /^\d{1,5}$/.test(asked) ? Number(asked) : null;
  const { ports } = set.facts;
  const ofService = ports.filter(({ name, port }) => name === asked || port === number);
  const names = new Set(ofService.map(({ name }) => name));
  const byName = ofService.length > 0;
  const matches = (name: string, { port }: EndpointPort): boolean =>
    byName ? names.has(name) : name === asked || (number !== null && port === number);
  const items: Item[] = [];
  for (const { endpoint } of set.items.values()) {
    const kept = Object.entries(endpoint.ports).filter(([name, port]) => matches(name, port));
    if (kept.length > 0) items.push(itemOf({ ...endpoint, ports: Object.fromEntries(kept) }));
  }
  if (!byName && items.length === 0) return null;
  return setOf({ ...set.facts, ports: ofService }, items);
}
