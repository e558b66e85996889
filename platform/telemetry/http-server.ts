import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Logger } from '../../core/logger.ts';
import { runChecks, type Check } from './health.ts';
import { listenOn } from './listen.ts';

export interface HttpServerOptions {
  /** '*': every address. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** `/healthz`: whether the process gets anywhere; failing means "restart me". */
  readonly liveness: readonly Check[];
  /** `/readyz`: whether it is in sync with what it serves. */
  readonly readiness: readonly Check[];
  /** `/metrics`, in Prometheus' text format. */
  readonly metrics: { render(): Promise<string> };
  readonly log: Logger;
}

export interface HttpServer {
  readonly port: number;
  /** Such as `http://127.0.0.1:9090`. */
  readonly url: string;
  /** Stops listening and cuts what is open. */
  close(): Promise<void>;
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics`, and logs where.
 *
 * @throws ListenError when the port is taken or may not be used.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const server = createServer((request, response) => {
    answer(request, response, options).catch((error: unknown) => {
      options.log.error({ error, path: request.url }, 'an answer of the metrics port failed');
      response.destroy();
    });
  });
  // Whoever scrapes keeps a connection; nobody needs minutes to send a GET.
  server.requestTimeout = 10_000;
  server.headersTimeout = 10_000;
  const { host, port: wanted } = options;
  const { port, url } = await listenOn(server, { ...LISTEN, host, port: wanted });
  options.log.info({ url, port }, 'serving /healthz, /readyz and /metrics');
  return {
    port,
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpServerOptions,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return reply(response, 405, 'application/json', '{"error":"GET only"}\n');
  }
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  switch (path) {
    case '/healthz':
      return replyChecks(response, options.liveness);
    case '/readyz':
      return replyChecks(response, options.readiness);
    case '/metrics': {
      const text = await options.metrics.render();
      return reply(response, 200, 'text/plain; version=0.0.4; charset=utf-8', text);
    }
    default: {
      const body = { error: 'there is /healthz, /readyz and /metrics' };
      return reply(response, 404, 'application/json', `${JSON.stringify(body)}\n`);
    }
  }
}

function replyChecks(response: ServerResponse, checks: readonly Check[]): void {
  const result = runChecks(checks);
  const body = `${JSON.stringify(result, null, 2)}\n`;
  reply(response, result.ok ? 200 : 503, 'application/json', body);
}

function reply(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(body);
}

const LISTEN = { flag: 'http-port', hostFlag: 'http-host' };
