import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { JSON_TYPE, NO_REQUEST, answer, errorLine, lines, refuse } from './misbehaviours.ts';
import type { Behaviour } from './misbehaviours.ts';

export * from './misbehaviours.ts';

/** One object of the kind that the server serves. */
export interface FakeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly value: string;
}

interface HistoryEntry {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: FakeObject;
}

export interface SeenRequest {
  readonly verb: 'list' | 'watch' | 'other';
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  /** `performance.now()`. */
  readonly at: number;
}

/**
 * A local API server of one kind, kept in memory, that can be told to misbehave. It lists in pages,
 * watches from a version on, and forgets history on demand, as the real one does.
 */
export class MisbehavingApi {
  readonly requests: SeenRequest[] = [];
  /** Connections accepted so far. */
  connections = 0;
  private readonly server = createServer((request, response) => this.handle(request, response));
  private readonly sockets = new Set<Socket>();
  private readonly watches = new Set<ServerResponse>();
  private readonly objects = new Map<string, FakeObject>();
  private readonly planned = { list: [] as Behaviour[], watch: [] as Behaviour[] };
  private readonly lasting = new Map<'list' | 'watch', Behaviour>();
  private readonly snapshots = new Map<string, FakeObject[]>();
  private history: HistoryEntry[] = [];
  private version = 100;
  private compactedAt = 0;
  private stuckTokens = false;
  private uids = 0;
  /** How a watch from a forgotten version is refused. */
  goneBy: 'status' | 'event' = 'event';
  /** False: the kind is not served, everything about it is 404. */
  served = true;

  /** Listens on a free port of the loopback address. */
  static async start(port = 0): Promise<MisbehavingApi> {
    const api = new MisbehavingApi();
    api.server.on('connection', (socket) => {
      api.connections += 1;
      api.sockets.add(socket);
      socket.on('close', () => api.sockets.delete(socket));
    });
    await new Promise<void>((resolve) => api.server.listen(port, '127.0.0.1', resolve));
    return api;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }
  get currentVersion(): string {
    return String(this.version);
  }
  get openSockets(): number {
    return this.sockets.size;
  }
  get openWatches(): number {
    return this.watches.size;
  }

  seen(verb: SeenRequest['verb']): SeenRequest[] {
    return this.requests.filter((request) => request.verb === verb);
  }

  /** Creates or changes an object, and tells the watches. */
  put(name: string, value = 'x'): FakeObject {
    const known = this.objects.get(name);
    const uid = known?.metadata.uid ?? `uid-${(this.uids += 1)}`;
    const object = this.stamp(name, uid, value);
    this.objects.set(name, object);
    this.record(known === undefined ? 'ADDED' : 'MODIFIED', object);
    return object;
  }

  remove(name: string): void {
    const known = this.objects.get(name);
    if (known === undefined) throw new Error(`there is no ${name}`);
    this.objects.delete(name);
    this.record('DELETED', this.stamp(name, known.metadata.uid, known.value));
  }

  /** The next requests of this verb, one each. */
  next(verb: 'list' | 'watch', ...behaviours: Behaviour[]): void {
    this.planned[verb].push(...behaviours);
  }

  /** All requests of this verb from now on; undefined: proper again. */
  always(verb: 'list' | 'watch', behaviour: Behaviour | undefined): void {
    if (behaviour === undefined) this.lasting.delete(verb);
    else this.lasting.set(verb, behaviour);
  }

  /** Forgets all history: watches from before now are refused with 410. */
  compact(): void {
    this.compactedAt = this.version;
    this.history = [];
  }

  /** Continue tokens given so far are no longer known; with `stuck`, nor is any later one. */
  expireTokens(stuck = false): void {
    this.snapshots.clear();
    this.stuckTokens = stuck;
  }

  /** The history goes back, as when etcd is restored from a backup. */
  restoreTo(version: number): void {
    this.version = version;
    this.history = this.history.filter((entry) => entry.version <= version);
  }

  /** A line of our own on every open watch. */
  say(line: string): void {
    for (const watch of this.watches) watch.write(`${line}\n`);
  }

  bookmark(version = this.currentVersion): void {
    const object = { kind: 'Thing', metadata: { resourceVersion: version } };
    this.say(JSON.stringify({ type: 'BOOKMARK', object }));
  }

  /** Ends every watch: between two lines, or by cutting the connection after half a line. */
  endWatches(how: 'cleanly' | 'mid-line' | 'abruptly'): void {
    for (const watch of this.watches) {
      if (how === 'cleanly') watch.end();
      else if (how === 'abruptly') watch.socket?.destroy();
      else watch.write('{"type":"ADDED","obj', () => watch.socket?.destroy());
    }
  }

  /** Ends the server and all connections. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private stamp(name: string, uid: string, value: string): FakeObject {
    this.version += 1;
    const resourceVersion = this.currentVersion;
    return { metadata: { name, namespace: 'ns', uid, resourceVersion }, value };
  }

  private record(type: HistoryEntry['type'], object: FakeObject): void {
    this.history.push({ version: this.version, type, object });
    this.say(JSON.stringify({ type, object }));
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.url);
    const query = url.searchParams;
    const ours = url.pathname.endsWith('/things') && request.method === 'GET';
    const verb = ours ? (query.has('watch') ? 'watch' : 'list') : 'other';
    this.requests.push({
      verb,
      method: request.method ?? '',
      path: url.pathname,
      query,
      authorization: request.headers.authorization,
      at: performance.now(),
    });
    if (verb === 'other') return this.handleOther(request, response);
    const proceed = (): void => {
      if (!this.served) answer(404, '404 page not found\n', TEXT)(request, response, proceed);
      else if (verb === 'list') this.list(query, response);
      else this.watch(query, response);
    };
    const behaviour = this.planned[verb].shift() ?? this.lasting.get(verb);
    if (behaviour === undefined) proceed();
    else behaviour(request, response, proceed);
  }

  /** Echoes what it got; a Behaviour for lists serves those who want more. */
  private handleOther(request: IncomingMessage, response: ServerResponse): void {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { method, url, headers } = request;
      answer(200, JSON.stringify({ method, url, headers, body }), JSON_TYPE)(
        request,
        response,
        () => undefined,
      );
    });
  }

  private list(query: URLSearchParams, response: ServerResponse): void {
    const limit = Number(query.get('limit') ?? '0') || Infinity;
    const token = query.get('continue');
    const rest = token === null ? [...this.objects.values()] : this.snapshots.get(token);
    if (rest === undefined) {
      const message = 'The provided continue parameter is too old';
      return refuse(410, { reason: 'Expired', message })(NO_REQUEST, response, () => undefined);
    }
    const version = token?.split('/')[0] ?? this.currentVersion;
    const items = rest.slice(0, limit);
    const left = rest.slice(limit);
    let next = '';
    if (left.length > 0) {
      next = `${version}/${left.length}`;
      if (!this.stuckTokens) this.snapshots.set(next, left);
    }
    const metadata = { resourceVersion: version, ...(next === '' ? {} : { continue: next }) };
    const body = JSON.stringify({ kind: 'ThingList', metadata, items });
    answer(200, body, JSON_TYPE)(NO_REQUEST, response, () => undefined);
  }

  private watch(query: URLSearchParams, response: ServerResponse): void {
    const from = Number(query.get('resourceVersion'));
    if (from < this.compactedAt) return this.refuseGone(response);
    response.writeHead(200, JSON_TYPE);
    response.flushHeaders();
    for (const { version, type, object } of this.history) {
      if (version > from) response.write(`${JSON.stringify({ type, object })}\n`);
    }
    this.watches.add(response);
    const timer = setTimeout(() => response.end(), Number(query.get('timeoutSeconds')) * 1000);
    response.on('close', () => {
      clearTimeout(timer);
      this.watches.delete(response);
    });
  }

  private refuseGone(response: ServerResponse): void {
    const message = 'too old resource version';
    const gone =
      this.goneBy === 'status'
        ? refuse(410, { reason: 'Expired', message })
        : lines(errorLine(410, 'Expired', message));
    gone(NO_REQUEST, response, () => undefined);
  }
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

// As a process of its own, so that a test can stop it (SIGSTOP) while its sockets stay open. It
// prints its port.
if (import.meta.main === true) {
  const api = await MisbehavingApi.start(Number(process.argv[2] ?? 0));
  for (const name of ['a', 'b']) api.put(name);
  process.stdout.write(`${api.port}\n`);
}
