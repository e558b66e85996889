import { Pool, ProxyAgent } from 'undici';
import type { Dispatcher } from 'undici';
import { apiServerConnector, proxyConnector, tlsOptions, CONNECT_TIMEOUT_MS } from './connect.ts';
import type { AddressRule, ConnectScope } from './connect.ts';
import type { ClientCertificate, MaybePromise } from './credentials.ts';
import type { KubeAccess } from './kubeconfig-access.ts';

/** The connections to one API server under one credential, and the headers of each request. */
export interface Transport {
  /** `scheme://host:port`, what a dispatcher wants. */
  readonly origin: string;
  /** `host:port`, for people. */
  readonly server: string;
  /** Path prefix of the server, '' as a rule. */
  readonly prefix: string;
  requests(): Dispatcher;
  /** Apart from the requests, without a limit: a watch keeps its connection for minutes. */
  watches(): Dispatcher;
  /** Names and values in turn; a promise only while a credential is being read. */
  headers(contentType: string, metadataOnly?: boolean): MaybePromise<string[]>;
  readonly maxAnswerBytes: number;
  /** After a 401: credentials are read anew, and a changed certificate gets new connections. */
  unauthorized(): void;
  /** Cuts credentials out of a text that came from the other side. */
  redact(text: string): string;
  /** Ends every connection and everything under way. */
  close(): Promise<void>;
}

export interface TransportOptions {
  /** Most connections for requests; more requests than that wait. */
  readonly connections: number;
  readonly addressRule?: AddressRule;
  /** Most bytes of one answer. */
  readonly maxAnswerBytes: number;
}

/** How long an idle connection is kept, in ms: shorter than load balancers usually allow. */
const KEEP_ALIVE_MS = 30_000;
const USER_AGENT = 'tether';
const JSON_ALONE = 'application/json';
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Opens nothing yet: connections are made by the first requests. */
export function createTransport(access: KubeAccess, options: TransportOptions): Transport {
  const url = new URL(access.server);
  const headers = headerCache(access);
  const retired = new Set<Pools>();
  const scope: ConnectScope = { rule: options.addressRule, sockets: new Set() };
  const make = (): Pools => makePools(access, url.origin, options.connections, scope);
  let pools = make();
  let certificate = certificateAtHand(access)?.cert;
  let closed = false;
  const recycleIfRotated = async (): Promise<void> => {
    const latest = (await access.credentials.clientCertificate())?.cert;
    if (closed || latest === certificate) return;
    certificate = latest;
    const old = pools;
    pools = make();
    retired.add(old);
    // What is under way may end in peace.
    await Promise.all([old.requests.close(), old.watches.close()]);
    retired.delete(old);
  };
  return {
    origin: url.origin,
    server: url.port === '' ? `${url.hostname}:${url.protocol === 'https:' ? 443 : 80}` : url.host,
    prefix: url.pathname.replace(/\/+$/, ''),
    maxAnswerBytes: options.maxAnswerBytes,
    requests: () => pools.requests,
    watches: () => pools.watches,
    headers: headers.get,
    unauthorized() {
      access.credentials.refused();
      recycleIfRotated().catch(() => undefined);
    },
    redact: headers.redact,
    async close() {
      closed = true;
      await destroyAll([pools, ...retired], scope);
    },
  };
}

async function destroyAll(pools: readonly Pools[], { sockets }: ConnectScope): Promise<void> {
  const all = pools.flatMap(({ requests, watches }) => [requests, watches]);
  const destroyed = Promise.all(all.map((dispatcher) => dispatcher.destroy()));
  // Those that were being made would go on until their time limit.
  for (const socket of sockets) socket.destroy();
  await destroyed;
}

/** undefined as well while a plugin or file has yet to give it. */
function certificateAtHand(access: KubeAccess): ClientCertificate | undefined {
  const certificate = access.credentials.clientCertificate();
  if (!(certificate instanceof Promise)) return certificate;
  // Whoever connects will meet the same failure and report it.
  certificate.catch(() => undefined);
  return undefined;
}

interface Pools {
  readonly requests: Dispatcher;
  readonly watches: Dispatcher;
}

function makePools(
  access: KubeAccess,
  origin: string,
  connections: number,
  scope: ConnectScope,
): Pools {
  const make = (most: number | null): Dispatcher =>
    access.proxyUrl === undefined
      ? directPool(access, origin, most, scope)
      : proxiedPool(access, access.proxyUrl, most, scope);
  return { requests: make(connections), watches: make(null) };
}

/** Deadlines are the client's own, per request: undici's are coarse and per phase. */
const POOL_OPTIONS = {
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
  keepAliveTimeout: KEEP_ALIVE_MS,
  allowH2: false,
} as const;

function directPool(
  access: KubeAccess,
  origin: string,
  connections: number | null,
  scope: ConnectScope,
): Dispatcher {
  return new Pool(origin, {
    ...POOL_OPTIONS,
    connections,
    connect: apiServerConnector(access, scope),
  });
}

function proxiedPool(
  access: KubeAccess,
  proxyUrl: string,
  connections: number | null,
  scope: ConnectScope,
): Dispatcher {
  if (scope.rule !== undefined && proxyUrl.startsWith('socks')) {
    throw new Error('proxy-url: a socks5 proxy cannot be used where addresses are restricted');
  }
  const connect = proxyConnector(scope);
  // Fixed for this pool: a rotated certificate makes the server answer 401, and that a new pool.
  const pem = certificateAtHand(access);
  return new ProxyAgent({
    ...POOL_OPTIONS,
    uri: proxyUrl,
    connections,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Always CONNECT, so that the one connector above, with its rule, is the only way out.
    proxyTunnel: true,
    requestTls: tlsOptions(access, pem, { ...scope, rule: undefined }),
    // A proxy that takes the connection and says nothing must not hold it for good.
    clientFactory: (uri) =>
      new Pool(uri, { ...POOL_OPTIONS, headersTimeout: CONNECT_TIMEOUT_MS, connect }),
  });
}

interface HeaderCache {
  get(contentType: string, metadataOnly?: boolean): MaybePromise<string[]>;
  redact(text: string): string;
}

/** Headers are built once a credential and content type: this runs for every request. */
function headerCache(access: KubeAccess): HeaderCache {
  let current: string | undefined;
  let byType = new Map<string, string[]>();
  const build = (authorization: string | undefined, accept: string, type: string): string[] => {
    if (authorization !== current) {
      current = authorization;
      byType = new Map();
    }
    const known = byType.get(accept + type);
    if (known !== undefined) return known;
    const headers = ['accept', accept, 'user-agent', USER_AGENT];
    if (authorization !== undefined) headers.push('authorization', authorization);
    if (type !== '') headers.push('content-type', type);
    headers.push(...(access.headers ?? []));
    byType.set(accept + type, headers);
    return headers;
  };
  return {
    get(contentType, metadataOnly = false) {
      const accept = metadataOnly ? METADATA_ONLY : JSON_ALONE;
      const authorization = access.credentials.authorization();
      if (!(authorization instanceof Promise)) return build(authorization, accept, contentType);
      return authorization.then((ready) => build(ready, accept, contentType));
    },
    redact(text) {
      const secret = current?.replace(/^\S+ /, '') ?? '';
      return secret === '' ? text : text.replaceAll(secret, '[redacted]');
    },
  };
}
