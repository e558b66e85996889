import type { AddressRule } from './connect.ts';
import { UnreachableError } from '../../core/errors.ts';
import { Exchange } from './exchange.ts';
import type { KubeAccess } from './kubeconfig-access.ts';
import { listPages } from './list.ts';
import type { ListOptions, ListPage } from './list.ts';
import { observed, type ClientObserver } from './observe.ts';
import { createTransport } from './transport.ts';
import type { Transport } from './transport.ts';
import { WatchStream } from './watch-stream.ts';
import type { WatchEvent } from './watch-stream.ts';

export type { ListOptions, ListPage } from './list.ts';
export { WatchDamagedError, type WatchEvent } from './watch-stream.ts';

/** Deadline of a request unless it or its client says otherwise, connecting and waiting for a connection included. */
const DEFAULT_TIMEOUT_MS = 10_000;
/** Connections for requests; at 32 writes in parallel a real API server is already the bottleneck. */
const DEFAULT_CONNECTIONS = 32;
/** A page of 500 large objects fits, a flood does not. */
const DEFAULT_MAX_ANSWER_BYTES = 256 * 1024 * 1024;

export interface RequestOptions {
  /** Verb, resource and object, such as `update endpointslices ns/name`: every error begins with it. */
  readonly what: string;
  /** When it aborts, the request is cut and its promise rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds; default 10 s. */
  readonly timeoutMs?: number;
  readonly query?: Readonly<Record<string, string>>;
  /** Of a list: objects with their metadata alone, such as Secrets without their data. */
  readonly metadataOnly?: boolean;
}

export interface WatchOptions extends RequestOptions {
  /** Events after this version. */
  readonly resourceVersion: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** The server ends the watch cleanly after this time, in seconds. */
  readonly timeoutSeconds: number;
  /** The stream is taken for dead after this much silence, in ms; bookmarks come about each minute. */
  readonly idleMs: number;
}

export type PatchType =
  | 'application/merge-patch+json'
  | 'application/json-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/**
 * Raw JSON requests to one API server under one credential. Paths are absolute, such as
 * `/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices`. `T` is taken on trust.
 *
 * Every method rejects with ApiError when the server refused, with UnreachableError when it could not
 * be reached, did not answer by the deadline, or did not answer JSON. Nothing is retried here, and
 * redirects are not followed.
 */
export interface KubeClient {
  /** `host:port`, for logs. */
  readonly server: string;
  get<T>(path: string, options: RequestOptions): Promise<T>;
  create<T>(path: string, body: unknown, options: RequestOptions): Promise<T>;
  replace<T>(path: string, body: unknown, options: RequestOptions): Promise<T>;
  patch<T>(path: string, body: unknown, type: PatchType, options: RequestOptions): Promise<T>;
  /** `body` are DeleteOptions, such as preconditions. */
  delete<T>(path: string, body: unknown, options: RequestOptions): Promise<T>;
  /**
   * A consistent list, page by page. When the continue token expires between two pages (410) the list
   * begins anew, and the first page of the new one says `restarted: true`: what was given before it
   * no longer counts. After three such restarts the ApiError is thrown. A page may take 30 s.
   */
  list<T>(path: string, options: ListOptions): AsyncIterable<ListPage<T>>;
  /**
   * Events after `resourceVersion`, bookmarks and ERROR events included, in batches: all events whose
   * lines ended in one chunk of the network. The first batch is empty and comes as soon as the server
   * accepted the watch. The iteration ends when the server ended the stream between two lines; a cut,
   * a line that is no event (those before it are still given) or `idleMs` of silence throw, the last two
   * a WatchDamagedError.
   */
  watch(path: string, options: WatchOptions): AsyncIterable<WatchEvent[]>;
  /** Cuts everything under way; what comes later fails. */
  close(): Promise<void>;
}

export interface KubeClientOptions {
  /** Most connections for requests, default 32; more requests than that wait for one. */
  readonly connections?: number;
  /** Deadline of requests that name none, ms; default 10 s. */
  readonly timeoutMs?: number;
  readonly observe?: ClientObserver;
  /** Refuses addresses at every connect; see AddressRule. */
  readonly addressRule?: AddressRule;
  /** Most bytes of one answer, default 256 MiB; a longer one is cut off and fails. */
  readonly maxAnswerBytes?: number;
}

/** Makes a client; it connects at its first request. */
export function createKubeClient(access: KubeAccess, options: KubeClientOptions = {}): KubeClient {
  const transport = createTransport(access, {
    connections: options.connections ?? DEFAULT_CONNECTIONS,
    maxAnswerBytes: options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
    ...(options.addressRule === undefined ? {} : { addressRule: options.addressRule }),
  });
  const client = {
    transport,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    observe: options.observe,
  };
  return {
    server: transport.server,
    get: (path, o) => send(client, 'get', { path }, o),
    create: (path, body, o) => send(client, 'create', { path, body, type: JSON_TYPE }, o),
    replace: (path, body, o) => send(client, 'update', { path, body, type: JSON_TYPE }, o),
    patch: (path, body, type, o) => send(client, 'patch', { path, body, type }, o),
    delete: (path, body, o) =>
      send(client, 'delete', body === undefined ? { path } : { path, body, type: JSON_TYPE }, o),
    list: (path, o) => listPages((page) => send(client, 'list', { path }, page), o),
    watch: (path, o) => watch(client, path, o),
    close: () => transport.close(),
  };
}

const JSON_TYPE = 'application/json';

interface Client {
  readonly transport: Transport;
  readonly timeoutMs: number;
  readonly observe: ClientObserver | undefined;
}

/** The verbs of Kubernetes' own RBAC and metrics. */
const METHODS = {
  get: 'GET',
  list: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
} as const;

interface Call {
  readonly path: string;
  readonly type?: string;
  readonly body?: unknown;
}

function send<T>(
  client: Client,
  verb: keyof typeof METHODS,
  call: Call,
  options: RequestOptions,
): Promise<T> {
  const { transport } = client;
  const { path, body } = call;
  return new Promise<T>((resolve, reject) => {
    if (options.signal?.aborted === true) return void reject(options.signal.reason);
    const exchange = new Exchange<T>(
      transport,
      {
        what: options.what,
        timeoutMs: options.timeoutMs ?? client.timeoutMs,
        signal: options.signal,
        onSettled: observed(client.observe, verb, path, options.what),
      },
      resolve,
      reject,
    );
    const headers = transport.headers(call.type ?? '', options.metadataOnly);
    const go = (ready: string[]): void => {
      transport.requests().dispatch(
        {
          origin: transport.origin,
          path: fullPath(transport, path, options.query),
          method: METHODS[verb],
          headers: ready,
          body: body === undefined ? null : JSON.stringify(body),
        },
        exchange,
      );
    };
    if (!(headers instanceof Promise)) go(headers);
    else headers.then(go, (error: unknown) => exchange.onResponseError(undefined, asError(error)));
  });
}

async function* watch(
  client: Client,
  path: string,
  options: WatchOptions,
): AsyncGenerator<WatchEvent[], void, undefined> {
  const { transport } = client;
  options.signal?.throwIfAborted();
  const headers = await Promise.resolve(transport.headers('')).catch((error: unknown) => {
    throw new UnreachableError(options.what, error);
  });
  options.signal?.throwIfAborted();
  const stream = new WatchStream(transport, {
    what: options.what,
    signal: options.signal,
    idleMs: options.idleMs,
    onSettled: observed(client.observe, 'watch', path, options.what),
  });
  const query = watchQuery(options);
  transport
    .watches()
    .dispatch(
      { origin: transport.origin, path: fullPath(transport, path, query), method: 'GET', headers },
      stream,
    );
  yield* stream.batches();
}

function watchQuery(options: WatchOptions): Record<string, string> {
  return {
    ...options.query,
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: options.resourceVersion,
    timeoutSeconds: String(options.timeoutSeconds),
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
  };
}

function fullPath(transport: Transport, path: string, query: RequestOptions['query']): string {
  const whole = transport.prefix === '' ? path : transport.prefix + path;
  return query === undefined ? whole : `${whole}?${new URLSearchParams(query).toString()}`;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
