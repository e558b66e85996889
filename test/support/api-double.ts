import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ApiObject } from '../../core/api-objects.ts';
import { WORKLOAD_GROUP } from '../../core/names.ts';
import { FIRST } from '../unit/kube/tls-fixtures.ts';
import {
  forbidden,
  refuse,
  sendJson,
  sendUnknownPath,
  UNAUTHORIZED,
  type Refusal,
} from './api-double/answers.ts';
import { DOUBLE_KINDS, type DoubleKind, type DoublePlural } from './api-double/kinds.ts';
import { answerList, answerWatch, type OpenWatch } from './api-double/list-and-watch.ts';
import { DoubleStore } from './api-double/store.ts';
import type { Behaviour } from './misbehaviours.ts';

export type { DoublePlural } from './api-double/kinds.ts';

/** Who a token stands for. */
export interface DoubleUser {
  readonly name: string;
  /** What it may do over all namespaces; default everything. */
  readonly may?: (verb: string, plural: DoublePlural) => boolean;
}

export interface ApiDoubleOptions {
  /** Plain http instead of https. */
  readonly plain?: boolean;
  /** Default: any free one. */
  readonly port?: number;
  /** Who it knows, by token. Default: `double-token`, who may do everything. */
  readonly users?: Readonly<Record<string, DoubleUser>>;
}

export const DOUBLE_TOKEN = 'double-token';
const ANONYMOUS: DoubleUser = { name: 'system:anonymous', may: () => false };
const WORKLOADS = `/apis/${WORKLOAD_GROUP}`;
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/**
 * Stands in for the API server of a remote cluster, as far as Tether asks anything of one: in memory,
 * many in one process, each on a port of the loopback. test/integration/api-double.test.ts proves it
 * equal to kube-apiserver.
 */
export class ApiDouble {
  readonly store = new DoubleStore();
  /** Mutable: tokens come and go. */
  readonly users: Map<string, DoubleUser>;
  /** Kinds that it does not know, as before their CRD is there. */
  readonly unserved = new Set<DoublePlural>();
  /** In which version it serves ExternalWorkloads. */
  workloadVersion: 'v1beta1' | 'v1alpha1' = 'v1beta1';
  /** Requests so far, by path. */
  readonly requests = new Map<string, number>();
  readonly #plain: boolean;
  readonly #server;
  readonly #sockets = new Set<Socket>();
  readonly #watches = new Set<OpenWatch>();
  #behaviour: Behaviour | undefined;

  private constructor(options: ApiDoubleOptions) {
    this.#plain = options.plain ?? false;
    this.users = new Map(Object.entries(options.users ?? { [DOUBLE_TOKEN]: { name: 'admin' } }));
    const listener = (request: IncomingMessage, response: ServerResponse): void =>
      this.#take(request, response);
    this.#server = this.#plain ? createServer(listener) : createTlsServer(FIRST, listener);
    // As kube-apiserver does it leaves it to clients to end what is idle.
    this.#server.keepAliveTimeout = 0;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(options: ApiDoubleOptions = {}): Promise<ApiDouble> {
    const double = new ApiDouble(options);
    await new Promise<void>((resolve, reject) => {
      double.#server.once('error', reject);
      double.#server.listen(options.port ?? 0, '127.0.0.1', resolve);
    });
    return double;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }
  get url(): string {
    return `${this.#plain ? 'http' : 'https'}://127.0.0.1:${this.port}`;
  }
  get openWatches(): number {
    return this.#watches.size;
  }
  /** Watches that stand for requests with this token. */
  watchesBy(token: string): number {
    const by = [...this.#watches].filter(({ response }) => tokenOf(response.req) === token);
    return by.length;
  }
  get openSockets(): number {
    return this.#sockets.size;
  }

  /** The text of a kubeconfig that leads here. */
  kubeconfig(token = DOUBLE_TOKEN): string {
    const tls = this.#plain
      ? {}
      : {
          'certificate-authority-data': Buffer.from(FIRST.cert).toString('base64'),
          'tls-server-name': 'tether.test',
        };
    // JSON is YAML.
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'double', cluster: { server: this.url, ...tls } }],
      users: [{ name: 'double', user: { token } }],
      contexts: [{ name: 'double', context: { cluster: 'double', user: 'double' } }],
      'current-context': 'double',
    });
  }

  /** Creates an object or replaces it; watches are told. */
  put(plural: DoublePlural, object: ApiObject): ApiObject {
    return this.store.put(plural, object);
  }

  remove(plural: DoublePlural, namespace: string, name: string): void {
    this.store.remove(plural, `${namespace}/${name}`);
  }

  /** Answers every request in this way from now on; undefined: properly again. */
  misbehave(behaviour: Behaviour | undefined): void {
    this.#behaviour = behaviour;
  }

  /** Sends a bookmark on every open watch, as a server does once a minute. */
  bookmark(): void {
    for (const watch of this.#watches) watch.bookmark();
  }

  /** Cuts every connection, the watches' too. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends the server and all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.cut();
    await closed;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://double');
    this.requests.set(url.pathname, (this.requests.get(url.pathname) ?? 0) + 1);
    const proceed = (): void => this.#answer(request, response, url);
    if (this.#behaviour === undefined) proceed();
    else this.#behaviour(request, response, proceed);
  }

  #answer(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const user = this.#userOf(request);
    if (user === undefined) return refuse(response, UNAUTHORIZED);
    if (url.pathname === '/version') return sendJson(response, 200, VERSION);
    if (url.pathname === WORKLOADS) return this.#describeWorkloads(response);
    if (url.pathname === REVIEWS) return void this.#review(user, request, response);
    const kind = this.#kinds().find(({ path }) => path === url.pathname);
    if (kind === undefined || request.method !== 'GET') return sendUnknownPath(response);
    const query = url.searchParams;
    const watching = ['true', '1'].includes(query.get('watch') ?? '');
    const refusal = refusalOf(user, watching ? 'watch' : 'list', kind);
    if (refusal !== undefined) return refuse(response, refusal);
    if (this.unserved.has(kind.plural)) return sendUnknownPath(response);
    const question = { kind, query, response };
    if (!watching) return answerList(this.store, question);
    answerWatch(
      this.store,
      question,
      (watch) => this.#watches.add(watch),
      (watch) => this.#watches.delete(watch),
    );
  }

  #kinds(): DoubleKind[] {
    const versioned = (text: string): string => text.replace('v1beta1', this.workloadVersion);
    return DOUBLE_KINDS.map((kind) => ({
      ...kind,
      path: versioned(kind.path),
      apiVersion: versioned(kind.apiVersion),
    }));
  }

  /** Which versions of ExternalWorkload there are. */
  #describeWorkloads(response: ServerResponse): void {
    if (this.unserved.has('externalworkloads')) return sendUnknownPath(response);
    const groupVersion = `${WORKLOAD_GROUP}/${this.workloadVersion}`;
    const version = { groupVersion, version: this.workloadVersion };
    const versions = { versions: [version], preferredVersion: version };
    const group = { kind: 'APIGroup', apiVersion: 'v1', name: WORKLOAD_GROUP, ...versions };
    sendJson(response, 200, JSON.stringify(group));
  }

  /** Undefined: the token is not known. */
  #userOf(request: IncomingMessage): DoubleUser | undefined {
    const token = tokenOf(request);
    return token === undefined ? ANONYMOUS : this.users.get(token);
  }

  /** A SelfSubjectAccessReview: it asks what the asking user may do. */
  async #review(
    user: DoubleUser,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (user === ANONYMOUS) return refuse(response, forbidden(user.name, 'create', REVIEW_KIND));
    const { spec } = JSON.parse(await text(request)) as ReviewBody;
    const { verb = '', resource = '', group = '' } = spec?.resourceAttributes ?? {};
    const kind = DOUBLE_KINDS.find((known) => known.plural === resource && known.group === group);
    const everything = user.may === undefined;
    const allowed = everything || (kind !== undefined && (user.may?.(verb, kind.plural) ?? true));
    const body = { kind: 'SelfSubjectAccessReview', apiVersion: 'authorization.k8s.io/v1' };
    sendJson(response, 201, JSON.stringify({ ...body, metadata: {}, spec, status: { allowed } }));
  }
}

function tokenOf({ headers }: IncomingMessage): string | undefined {
  return headers.authorization?.replace(/^Bearer /, '');
}

interface ReviewBody {
  readonly spec?: {
    readonly resourceAttributes?: {
      readonly verb?: string;
      readonly resource?: string;
      readonly group?: string;
    };
  };
}

const REVIEW_KIND = { plural: 'selfsubjectaccessreviews', group: 'authorization.k8s.io' } as const;

const VERSION = JSON.stringify({
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0',
  gitCommit: 'unknown',
  gitTreeState: 'archive',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'go1.26',
  compiler: 'gc',
  platform: 'linux/amd64',
});

function refusalOf(user: DoubleUser, verb: string, kind: DoubleKind): Refusal | undefined {
  if (user.may?.(verb, kind.plural) ?? true) return undefined;
  return forbidden(user.name, verb, kind);
}
