/*
 * What the URL of a Redis says. Text in, data out: nothing is connected to. Node's own URL does not do for
 * it: several hosts with ports are no host in its eyes. No fault repeats the text, which may hold a password.
 */

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

/** One server. */
export interface SinglePlace extends Endpoint, Credentials {
  readonly kind: 'single';
  readonly db: number;
  readonly tls: boolean;
}

/** One server on this machine, without TCP. */
export interface SocketPlace extends Credentials {
  readonly kind: 'socket';
  readonly path: string;
  readonly tls: false;
}

/** Whichever server the Sentinels take for the primary called `master`. The credentials are that server's. */
export interface SentinelPlace extends Credentials {
  readonly kind: 'sentinel';
  readonly sentinels: readonly Endpoint[];
  readonly master: string;
  readonly db: number;
  readonly tls: boolean;
}

/** A Redis Cluster, by some of its nodes. */
export interface ClusterPlace extends Credentials {
  readonly kind: 'cluster';
  readonly nodes: readonly Endpoint[];
  readonly tls: boolean;
}

export type RedisPlace = SinglePlace | SocketPlace | SentinelPlace | ClusterPlace;

/** The place, or what was expected of the text in words that go on after "expected". */
export type ReadUrl =
  | { readonly ok: true; readonly value: RedisPlace }
  | { readonly ok: false; readonly expected: string };

const FORMS = {
  single: 'redis://[user:password@]host[:port][/db]',
  sentinel: 'redis+sentinel://[user:password@]host[:port],…/master[/db]',
  cluster: 'redis+cluster://[user:password@]host[:port],…',
  socket: 'unix://[user:password@]/path/of/the.sock',
} as const;

type Kind = keyof typeof FORMS;

/** By what stands before `://`; `rediss` is with TLS. */
const SCHEMES: Readonly<Record<string, { readonly kind: Kind; readonly tls: boolean }>> = {
  redis: { kind: 'single', tls: false },
  rediss: { kind: 'single', tls: true },
  'redis+sentinel': { kind: 'sentinel', tls: false },
  'rediss+sentinel': { kind: 'sentinel', tls: true },
  'redis+cluster': { kind: 'cluster', tls: false },
  'rediss+cluster': { kind: 'cluster', tls: true },
  unix: { kind: 'socket', tls: false },
};

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;

/** A fault of the text, to be caught here. */
class Fault extends Error {}

/** Reads any of the forms above, with `rediss` for `redis` where the connection is to be TLS. */
export function readRedisUrl(text: string): ReadUrl {
  const [, scheme = '', rest = ''] = /^([A-Za-z+]+):\/\/(.*)$/s.exec(text) ?? [];
  const known = SCHEMES[scheme.toLowerCase()];
  if (known === undefined) return { ok: false, expected: unknownScheme() };
  try {
    return { ok: true, value: readPlace(known.kind, known.tls, rest) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ok: false, expected: `a URL such as ${FORMS[known.kind]}: ${error.message}` };
  }
}

function unknownScheme(): string {
  const { single, ...others } = FORMS;
  return `a URL such as ${single} (rediss:// for TLS), or ${Object.values(others).join(', ')}`;
}

function readPlace(kind: Kind, tls: boolean, rest: string): RedisPlace {
  if (kind === 'socket') return readSocket(rest);
  const { credentials, hosts, path } = takeApart(rest);
  if (kind === 'sentinel') return { kind, tls, ...credentials, ...readSentinel(hosts, path) };
  if (kind === 'cluster') {
    // Redis Cluster has no other database.
    if (path.length > 0 && path.join('/') !== '0')
      throw new Fault('a Cluster has no database to choose');
    return { kind, tls, ...credentials, nodes: readHosts(hosts, REDIS_PORT) };
  }
  const [endpoint, another] = readHosts(hosts, REDIS_PORT);
  if (endpoint === undefined || another !== undefined) {
    throw new Fault('several hosts are for redis+sentinel:// and redis+cluster://');
  }
  if (path.length > 1) throw new Fault('after the host comes the number of a database at most');
  return { kind, tls, ...credentials, ...endpoint, db: readDatabase(path[0]) };
}

function readSocket(rest: string): SocketPlace {
  const [, user, path = ''] = /^(?:([^/]*)@)?(\/.+)$/s.exec(rest) ?? [];
  if (path === '') throw new Fault('the path of a socket is absolute');
  return { kind: 'socket', tls: false, ...readCredentials(user), path: decode(path) };
}

function readSentinel(
  hosts: string,
  [master = '', db, ...more]: readonly string[],
): Pick<SentinelPlace, 'sentinels' | 'master' | 'db'> {
  // What Sentinel itself takes for a name.
  if (!/^[A-Za-z0-9._-]+$/.test(master)) {
    throw new Fault('after the hosts comes the name that the Sentinels know the primary by');
  }
  if (more.length > 0) throw new Fault('after that name comes the number of a database at most');
  return { sentinels: readHosts(hosts, SENTINEL_PORT), master, db: readDatabase(db) };
}

interface Parts {
  readonly credentials: Credentials;
  readonly hosts: string;
  /** What stands between the slashes after the hosts; nothing where that is empty. */
  readonly path: readonly string[];
}

function takeApart(rest: string): Parts {
  const [, user, hosts = '', path = ''] =
    /^(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?$/s.exec(rest) ?? [];
  if (/^(?:[^/?#@]*@)?[^/?#@]+(?:\/[^?#@]*)?[?#][^@]*$/s.test(rest)) {
    throw new Fault(
      'it takes no parameters after ? or #: TLS is rediss://, with --redis-ca-file, --redis-cert-file, ' +
        '--redis-key-file and --redis-tls-server-name',
    );
  }
  if (hosts === '' || path.includes('@')) {
    throw new Fault(
      'write special characters of the password as %XX (%2F for /, %3F for ?, %23 for #, %40 for @)',
    );
  }
  const parts = path.split('/');
  return { credentials: readCredentials(user), hosts, path: path === '' ? [] : parts };
}

/** `user:password`, `:password` or `user`. */
function readCredentials(text = ''): Credentials {
  const colon = text.indexOf(':');
  const username = decode(colon === -1 ? text : text.slice(0, colon));
  const password = colon === -1 ? '' : decode(text.slice(colon + 1));
  return {
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
  };
}

function readHosts(text: string, port: number): Endpoint[] {
  return text.split(',').map((host) => readHost(host, port));
}

function readHost(text: string, defaultPort: number): Endpoint {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text);
  const port = Number(match?.[3] ?? defaultPort);
  if (match === null || port < 1 || port > 65_535) {
    throw new Fault(
      'a host is a name or an address (IPv6 in brackets), a port a number up to 65535',
    );
  }
  return { host: match[1] ?? match[2] ?? '', port };
}

function readDatabase(text = '0'): number {
  if (!/^\d{1,4}$/.test(text)) throw new Fault('the database is a number, such as 0');
  return Number(text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Fault('the user or the password holds a % that is not part of a %XX');
  }
}

/** Where a place is, for people: without user and password. */
export function describePlace(place: RedisPlace): string {
  switch (place.kind) {
    case 'single':
      return describeEndpoint(place);
    case 'socket':
      return place.path;
    case 'sentinel':
      return `${place.master} of the Sentinels ${place.sentinels.map(describeEndpoint).join(',')}`;
    case 'cluster':
      return `the Cluster ${place.nodes.map(describeEndpoint).join(',')}`;
  }
}

function describeEndpoint({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}
