import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Behaviour } from './misbehaviours.ts';
import { fromRun } from './run.ts';

/** A request on its way to the API server. */
export interface PassingRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly verb: 'list' | 'watch' | 'other';
}

/** Stands between a process and the real API server, knows what is asked, and answers in its place. */
export interface ApiInterceptor {
  /** Path of a kubeconfig that goes through it. */
  readonly kubeconfig: string;
  /** All requests so far, also those that did not get through. */
  readonly requests: readonly PassingRequest[];
  /** Connections taken so far. */
  readonly connections: number;
  /** Asked for each request; what it gives answers in the server's place. */
  rule: (request: PassingRequest) => Behaviour | undefined;
  /** May change a line of a watch, or the whole body of any other answer, on its way back. */
  rewrite: (text: string, request: PassingRequest) => string;
  /** Stops listening and cuts all connections, as a server that is gone. */
  goAway(): Promise<void>;
  /** Listens again, under the same address. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

interface Access {
  readonly server: string;
  readonly ca: string;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Record<string, string> }[];
}

/** Starts one in front of the API server of this run, on a free port of the loopback, in plain HTTP. */
export async function startApiInterceptor(): Promise<ApiInterceptor> {
  const config = parse(readFileSync(fromRun('kubeconfig'), 'utf8')) as Kubeconfig;
  const cluster = config.clusters[0]?.cluster;
  if (cluster === undefined) throw new Error('the kubeconfig of this run names no cluster');
  const ca = Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64').toString();
  const real: Access = { server: cluster['server'] ?? '', ca };
  const agent = new Agent({ keepAlive: true });
  const sockets = new Set<Socket>();
  const requests: PassingRequest[] = [];
  let connections = 0;
  const server = createServer((incoming, response) => {
    const passing = describe(incoming);
    requests.push(passing);
    const proceed = (): void => forward(real, agent, { incoming, response, passing, rewrite });
    const behaviour = interceptor.rule(passing);
    if (behaviour === undefined) proceed();
    else behaviour(incoming, response, proceed);
  });
  const rewrite = (text: string, passing: PassingRequest): string =>
    interceptor.rewrite(text, passing);
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve) => void server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  cluster['server'] = `http://127.0.0.1:${port}`;
  delete cluster['certificate-authority-data'];
  const dir = mkdtempSync(join(tmpdir(), 'tether-between-'));
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, stringify(config), { mode: 0o600 });
  const goAway = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const interceptor: ApiInterceptor = {
    kubeconfig,
    requests,
    get connections() {
      return connections;
    },
    rule: () => undefined,
    rewrite: (text) => text,
    goAway,
    comeBack: () => listen(port),
    close: async () => {
      await goAway();
      agent.destroy();
      rmSync(dir, { recursive: true });
    },
  };
  return interceptor;
}

function describe(incoming: IncomingMessage): PassingRequest {
  const { pathname: path, searchParams: query } = new URL(incoming.url ?? '/', 'http://between');
  const method = incoming.method ?? 'GET';
  const collection = path.endsWith('s') && method === 'GET';
  const verb = !collection ? 'other' : query.get('watch') === 'true' ? 'watch' : 'list';
  return { method, path, query, verb };
}

interface Passage {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly passing: PassingRequest;
  readonly rewrite: ApiInterceptor['rewrite'];
}

function forward(real: Access, agent: Agent, passage: Passage): void {
  const { incoming, response } = passage;
  const { method, url } = incoming;
  const options = { method, headers: headersOf(incoming.headers), ca: real.ca, agent };
  const outgoing = request(`${real.server}${url}`, options, (answer) => {
    const { 'content-length': _, ...headers } = headersOf(answer.headers);
    response.writeHead(answer.statusCode ?? 0, headers);
    response.flushHeaders();
    passBack(answer, passage);
  });
  outgoing.on('error', () => void response.destroy());
  response.on('close', () => void outgoing.destroy());
  incoming.pipe(outgoing);
}

/** A watch line by line as it comes; anything else once it is whole. */
function passBack(answer: IncomingMessage, { response, passing, rewrite }: Passage): void {
  let text = '';
  answer.setEncoding('utf8');
  answer.on('data', (chunk: string) => {
    text += chunk;
    if (passing.verb !== 'watch') return;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) response.write(`${rewrite(line, passing)}\n`);
  });
  answer.on('error', () => void response.destroy());
  answer.on('end', () => void response.end(text === '' ? '' : rewrite(text, passing)));
}

function headersOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { host: _host, connection: _connection, 'transfer-encoding': _encoding, ...rest } = headers;
  return rest;
}
