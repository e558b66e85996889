import type { IncomingMessage, ServerResponse } from 'node:http';
import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Gate } from '../platform/http/bearer-gate.ts';
import { exchange, type HttpHandler } from '../platform/http/exchange.ts';
import { startHttpFront } from '../platform/http/server.ts';
import { refused, type Answer } from './answers.ts';
import type { Refusal } from './known.ts';
import { parseUrl, type Parsed, type Route } from './routes.ts';

/** What the server asks for an answer. */
export interface Answers {
  /** Never rejects for anything that a client can do. */
  answer(route: Exclude<Route, { kind: 'openapi' }>): Answer | Promise<Answer>;
  /** Takes the response over, or gives the answer that refuses to. */
  watch(
    route: Extract<Route, { kind: 'endpoints' }>,
    response: ServerResponse,
    lastId: string,
  ): Promise<Answer | null>;
  openapi(): Promise<string>;
}

export interface LookupServerOptions {
  readonly host: string;
  readonly port: number;
  readonly gate: Gate;
  readonly answers: Answers;
  /** Takes requests for a reconcile, which are none of look-ups' business; null: nobody does. */
  readonly trigger: HttpHandler | null;
  readonly log: Logger;
  /** Called with the HTTP status of each answer. */
  readonly answered: (code: number) => void;
}

export interface LookupServer {
  readonly url: string;
  readonly port: number;
  /** Takes no more connections, and cuts those that are idle; the others after a moment. */
  close(): Promise<void>;
}

const CLOSE_MS = 1_000;
/** URLs that are remembered with what they mean. */
const MOST_URLS = 10_000;

/**
 * Listens for look-ups, and logs where.
 *
 * @throws ListenError when the port is taken or may not be used.
 */
export async function startLookupServer(options: LookupServerOptions): Promise<LookupServer> {
  const handler = new Handler(options);
  const front = await startHttpFront((request, response) => handler.handle(request, response), {
    host: options.host,
    port: options.port,
    flag: 'lookup-addr',
  });
  const { port, url } = front;
  options.log.info({ lookupUrl: url, port }, 'answering look-ups');
  return { port, url, close: () => front.close(CLOSE_MS) };
}

class Handler {
  readonly #options: LookupServerOptions;
  readonly #urls = new Map<string, Parsed>();

  constructor(options: LookupServerOptions) {
    this.#options = options;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { trigger } = this.#options;
    if (isTrigger(request.url)) return this.#trigger(request, response, trigger);
    const refusal = this.#refusal(request);
    if (refusal !== null) return this.#send(request, response, refused(refusal, null, 0));
    const parsed = this.#parse(request.url ?? '/');
    if ('refusal' in parsed) {
      return this.#send(request, response, refused(parsed.refusal, null, 0));
    }
    this.#answer(request, response, parsed.route);
  }

  #refusal({ method = '', headers }: IncomingMessage): Refusal | null {
    if (!this.#options.gate.admits(headers.authorization)) {
      const error = 'send the token of --lookup-token as Authorization: Bearer TOKEN';
      return { code: 'Unauthorized', error };
    }
    if (method === 'GET' || method === 'HEAD') return null;
    return { code: 'MethodNotAllowed', error: `${method} changes nothing here: use GET or HEAD` };
  }

  /** Its own gate decides who may: a token for look-ups opens nothing here. */
  #trigger(request: IncomingMessage, response: ServerResponse, trigger: HttpHandler | null): void {
    if (trigger === null) return this.#send(request, response, refused(NO_TRIGGER, null, 0));
    exchange(request, response, trigger).catch((error: unknown) => {
      this.#options.log.error({ error: describeError(error) }, 'a request for a reconcile failed');
    });
  }

  #parse(url: string): Parsed {
    const known = this.#urls.get(url);
    if (known !== undefined) return known;
    const parsed = parseUrl(url);
    if ('refusal' in parsed) return parsed;
    if (this.#urls.size >= MOST_URLS) this.#urls.clear();
    this.#urls.set(url, parsed);
    return parsed;
  }

  #answer(request: IncomingMessage, response: ServerResponse, route: Route): void {
    const { answers } = this.#options;
    if (route.kind === 'openapi') return this.#later(request, response, this.#openapi());
    if (route.kind === 'endpoints' && route.watch && request.method === 'GET') {
      const refusal = streamRefusal(request);
      if (refusal !== null) return this.#send(request, response, refused(refusal, null, 0));
      const lastId = request.headers['last-event-id'];
      const id = typeof lastId === 'string' ? lastId : '';
      return this.#later(request, response, answers.watch(route, response, id));
    }
    const answer = answers.answer(route);
    // Most answers are at hand: they are sent in the same turn.
    if (answer instanceof Promise) this.#later(request, response, answer);
    else this.#send(request, response, answer);
  }

  async #openapi(): Promise<Answer> {
    const head = await this.#options.answers.openapi();
    return { status: 200, head, tail: null, etag: null, ageMs: null, state: '' };
  }

  #later(request: IncomingMessage, response: ServerResponse, answer: Promise<Answer | null>): void {
    answer.then(
      (ready) => {
        if (ready === null) this.#options.answered(200);
        else this.#send(request, response, ready);
      },
      (error: unknown) => {
        this.#options.log.error({ error, url: request.url }, 'a look-up failed');
        const refusal = {
          code: 'Internal',
          error: 'a fault of Tether itself: see its log',
        } as const;
        this.#send(request, response, refused(refusal, null, 0));
      },
    );
  }

  #send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    const { status, etag } = answer;
    const matches = etag !== null && matchesTag(request.headers['if-none-match'], etag);
    this.#options.answered(matches ? 304 : status);
    const isWatch = request.method === 'HEAD' && answer.status === 200 && isStream(request.url);
    const headers = headersOf(answer, isWatch);
    if (matches) {
      response.writeHead(304, headers);
      response.end();
      return;
    }
    const { head, tail } = answer;
    const headLength = Buffer.byteLength(head);
    const length = headLength + (tail?.bytes.length ?? 0);
    if (!isWatch) headers.push('content-length', String(length));
    response.writeHead(status, headers);
    if (request.method === 'HEAD') response.end();
    else writeBody(response, head, tail, headLength === head.length);
  }
}

const TRIGGER_PATH = '/v1/reconcile';
const NO_TRIGGER: Refusal = {
  code: 'PathNotFound',
  error: 'no reconciles are taken here: start this process with --trigger-token-file',
};

function isTrigger(url = ''): boolean {
  return url.startsWith(TRIGGER_PATH) && /^(\?|$)/.test(url.slice(TRIGGER_PATH.length));
}

/** @param plain the head is in ASCII. */
function writeBody(
  response: ServerResponse,
  head: string,
  tail: Answer['tail'],
  plain: boolean,
): void {
  if (tail === null) response.end(head);
  else if (plain && tail.text !== null) response.end(head + tail.text, 'latin1');
  else {
    response.write(head);
    response.end(tail.bytes);
  }
}

function isStream(url = ''): boolean {
  return /[?&]watch=true(&|$)/.test(url);
}

function headersOf({ status, etag, ageMs, state }: Answer, isWatch: boolean): string[] {
  const type = isWatch ? 'text/event-stream; charset=utf-8' : 'application/json';
  const headers = ['content-type', type, 'cache-control', etag === null ? 'no-store' : 'no-cache'];
  if (etag !== null) headers.push('etag', etag);
  if (state !== '') headers.push('tether-cluster-state', state);
  if (ageMs !== null) headers.push('tether-age-ms', String(ageMs));
  if (status === 503) headers.push('retry-after', '1');
  if (status === 401) headers.push('www-authenticate', 'Bearer');
  if (status === 405) headers.push('allow', 'GET, HEAD');
  return headers;
}

/** Weak comparison (RFC 9110, 13.1.2): what a client has is good enough if only ages differ. */
function matchesTag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header === etag || header === '*') return true;
  const bare = etag.replace(/^W\//, '');
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === bare);
}

function streamRefusal({ httpVersion }: IncomingMessage): Refusal | null {
  if (httpVersion === '1.1') return null;
  return { code: 'BadRequest', error: `watch=true needs HTTP/1.1, not ${httpVersion}` };
}
