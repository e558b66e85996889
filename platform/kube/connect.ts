import { isIP, Socket, type LookupFunction } from 'node:net';
import { lookup as dnsLookup } from 'node:dns';
import {
  createSecureContext,
  TLSSocket,
  type ConnectionOptions,
  type SecureContext,
} from 'node:tls';
import { buildConnector } from 'undici';
import type { KubeAccess } from './kubeconfig-access.ts';
import type { ClientCertificate } from './credentials.ts';

/** A connection must stand within this time (ms), TLS included. */
export const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Says why an address may not be connected to, undefined when it may. It is asked for every address
 * at every connect, after name resolution, so that a name cannot resolve to something else later.
 */
export type AddressRule = (address: string) => string | undefined;

/** What holds for all connections of a transport. */
export interface ConnectScope {
  readonly rule: AddressRule | undefined;
  /** Those that there are, also those that do not stand yet. */
  readonly sockets: Set<Socket>;
}

type Connector = ReturnType<typeof buildConnector>;
type Callback = Parameters<Connector>[1];

/** An address that the rule refuses. */
class AddressRefusedError extends Error {
  constructor(host: string, address: string, reason: string) {
    super(host === address ? `${address}: ${reason}` : `${host} resolves to ${address}: ${reason}`);
    this.name = 'AddressRefusedError';
  }
}

/**
 * Makes connections to the API server: HTTP/1.1 only (the fastest here: docs and facts), with the
 * client certificate of the moment, so that a rotated one is used by the next connection.
 */
export function apiServerConnector(access: KubeAccess, scope: ConnectScope): Connector {
  let last:
    { readonly pem: ClientCertificate | undefined; readonly connect: Connector } | undefined;
  const connectorFor = (pem: ClientCertificate | undefined): Connector => {
    if (last === undefined || last.pem?.cert !== pem?.cert || last.pem?.key !== pem?.key) {
      last = { pem, connect: resumingConnector(access, pem, scope) };
    }
    return last.connect;
  };
  return (options, callback) => {
    const refusal = refuseLiteral(options.hostname, scope.rule);
    if (refusal !== undefined) return void callback(refusal, null);
    const pem = access.credentials.clientCertificate();
    if (!(pem instanceof Promise)) return connectorFor(pem)(options, callback);
    pem.then(
      (ready) => connectorFor(ready)(options, callback),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
    );
  };
}

/**
 * Certificates are parsed once, not for each connection, and later connections resume the TLS session
 * of an earlier one: together less than half of a connection's cost, on both sides.
 */
function resumingConnector(
  access: KubeAccess,
  pem: ClientCertificate | undefined,
  scope: ConnectScope,
): Connector {
  const { ca, cert, key, ...rest } = tlsOptions(access, pem, scope);
  let secureContext: SecureContext | undefined;
  const build = (session?: Buffer): Connector => {
    secureContext ??= createSecureContext({ ca, cert, key });
    // undici's own cache forgets sessions at the next garbage collection.
    return buildConnector({ ...rest, secureContext, session, maxCachedSessions: 0 });
  };
  let connect: Connector | undefined;
  return (options, callback) => {
    try {
      connect ??= build();
    } catch (error) {
      return void callback(error instanceof Error ? error : new Error(String(error)), null);
    }
    const remember: Callback = (...result) => {
      const [, socket] = result;
      if (socket instanceof TLSSocket) {
        socket.on('session', (session: Buffer) => (connect = build(session)));
      }
      callback(...result);
    };
    follow(connect(options, remember), scope);
  };
}

/** Makes connections to a proxy, which the address rule covers as well. */
export function proxyConnector(scope: ConnectScope): Connector {
  const connect = buildConnector({ ...common(scope) });
  return (options, callback: Callback) => {
    const refusal = refuseLiteral(options.hostname, scope.rule);
    if (refusal !== undefined) callback(refusal, null);
    else follow(connect(options, callback), scope);
  };
}

type TlsOptions = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'
>;

/** TLS options of the API server. */
export function tlsOptions(
  access: KubeAccess,
  pem: ClientCertificate | undefined,
  scope: ConnectScope,
): ReturnType<typeof common> & TlsOptions {
  return {
    ...common(scope),
    rejectUnauthorized: !access.insecure,
    ...(access.ca === undefined ? {} : { ca: access.ca }),
    ...(access.tlsServerName === undefined ? {} : { servername: access.tlsServerName }),
    ...(pem === undefined ? {} : { cert: pem.cert, key: pem.key }),
  };
}

/**
 * Keeps a connection from its beginning to its end. undici's connectors give the socket, though their
 * type does not say so; Node's own option, a signal, keeps every socket for as long as the signal.
 */
function follow(made: unknown, { sockets }: ConnectScope): void {
  if (!(made instanceof Socket)) return;
  sockets.add(made);
  made.once('close', () => sockets.delete(made));
}

function common({ rule }: ConnectScope): {
  allowH2: false;
  timeout: number;
  lookup?: LookupFunction;
} {
  const base = { allowH2: false, timeout: CONNECT_TIMEOUT_MS } as const;
  return rule === undefined ? base : { ...base, lookup: guardedLookup(rule) };
}

function refuseLiteral(hostname: string, rule: AddressRule | undefined): Error | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (rule === undefined || isIP(bare) === 0) return undefined;
  const reason = rule(bare);
  return reason === undefined ? undefined : new AddressRefusedError(bare, bare, reason);
}

/** Resolution in which one refused address refuses the name: no racing between good and bad. */
function guardedLookup(rule: AddressRule): LookupFunction {
  return (hostname, options, callback) => {
    dnsLookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return void callback(error, []);
      for (const { address } of found) {
        const reason = rule(address);
        if (reason !== undefined) {
          return void callback(new AddressRefusedError(hostname, address, reason), []);
        }
      }
      const first = found[0];
      if (options.all === true || first === undefined) return void callback(null, found);
      callback(null, first.address, first.family);
    });
  };
}
