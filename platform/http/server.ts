import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { listenOn, type ListenOptions } from '../telemetry/listen.ts';

export interface HttpFront {
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, cuts those that are idle, and the others after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** A request has a few headers, a token among them. */
const MAX_HEADER_BYTES = 8_192;
/** How long a request may take to arrive, ms. */
const ARRIVAL_MS = 10_000;
/** Clients keep a connection for their next request, ms. */
const KEEP_ALIVE_MS = 75_000;

/**
 * Listens for requests of anybody: what is too slow, too long or no HTTP at all is refused with a
 * sentence before `handle` hears of it.
 *
 * @throws ListenError when the port is taken or may not be used.
 */
export async function startHttpFront(
  handle: RequestListener,
  options: ListenOptions,
): Promise<HttpFront> {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: ARRIVAL_MS,
      requestTimeout: ARRIVAL_MS,
      connectionsCheckingInterval: ARRIVAL_MS / 2,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    handle,
  );
  const silent = watchSilent(server);
  server.on('clientError', refuseConnection);
  const { port, url } = await listenOn(server, options);
  const close = async (graceMs: number): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    for (const socket of silent) socket.destroy();
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(timer);
  };
  return { port, url, close };
}

/**
 * Connections that have not said anything yet: Node takes them for busy ones. Those that were used are
 * closed after their last answer once the server stops, or whoever keeps one would keep the process.
 */
function watchSilent(server: Server): ReadonlySet<Socket> {
  const silent = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    silent.add(socket);
    socket.on('close', () => silent.delete(socket));
  });
  server.on('request', ({ socket }, response) => {
    silent.delete(socket);
    response.on('close', () => void (server.listening || server.closeIdleConnections()));
  });
  return silent;
}

/** What is no HTTP, or too slow or too long, gets its answer without a request to go by. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  const code = error.code ?? '';
  // Anything but what the parser says means that the connection itself is broken.
  if (!/^(HPE_|ERR_HTTP_)/.test(code) || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, why] = CLIENT_ERRORS[code] ?? BAD_REQUEST;
  const body = JSON.stringify({ error: why, code: 'BadRequest' });
  const head = `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: application/json\r\n`;
  socket.end(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  socket.destroySoon();
}

const BAD_REQUEST = ['400 Bad Request', 'this is no HTTP/1.1 request'] as const;
const CLIENT_ERRORS: Readonly<Record<string, readonly [status: string, why: string]>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    `the URL and the headers are longer than ${MAX_HEADER_BYTES} bytes`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', `no request within ${ARRIVAL_MS / 1000} s`],
};
