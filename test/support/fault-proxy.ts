import { request, Agent, createServer } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../parity/random.ts';
import { errorLine, JSON_TYPE, lines, refuse } from './misbehaviours.ts';

/** What the proxy does to requests; all of it can be changed at any time. */
export interface FaultRules {
  /** Answers this share of requests itself, with one of the codes (409 for writes only). */
  refuse: { readonly codes: readonly number[]; readonly share: number } | null;
  /** Cuts the connection of this share of requests after the server has answered them. */
  loseAnswers: number;
  /** Passes each request on so many ms later. */
  slowMs: number;
  /** Cuts the connection of every request. */
  unreachable: boolean;
  /** Keeps every request waiting, until this is false again. */
  silent: boolean;
}

/** A request that changes something, once it is decided what its answer is. */
export interface ProxiedWrite {
  /** Who had the proxy when the request came. */
  readonly by: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** When it came, and when the server or the proxy answered; `performance.now()`. */
  readonly from: number;
  readonly to: number;
  readonly status: number;
  readonly answer: unknown;
}

export interface FaultProxyOptions {
  /** `https://127.0.0.1:PORT` */
  readonly target: string;
  readonly ca: string;
  /** What the proxy shows to its own clients. */
  readonly cert: string;
  readonly key: string;
  readonly random: Random;
  /** Names whoever uses the proxy now. */
  readonly user: () => string;
  readonly onWrite: (write: ProxiedWrite) => void;
}

/** A proxy that understands requests, in front of an API server. */
export interface FaultProxy {
  readonly url: string;
  readonly rules: FaultRules;
  /** Ends every watch. With `gone` the next one of each kind is told that its version is too old. */
  cutWatches(options?: { readonly gone: boolean }): void;
  /** Cuts every connection there is. */
  cutAll(): void;
  /** Watches stay open, and their events wait here until `releaseWatches`. */
  holdWatches(): void;
  releaseWatches(): void;
  close(): Promise<void>;
}

/** The API server's own certificate will do for the proxy: both are reached at 127.0.0.1. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new HttpFaultProxy(options);
  await proxy.listen();
  return proxy;
}

const SILENCE_STEP_MS = 20;

class HttpFaultProxy implements FaultProxy {
  readonly rules: FaultRules = {
    refuse: null,
    loseAnswers: 0,
    slowMs: 0,
    unreachable: false,
    silent: false,
  };
  readonly #options: FaultProxyOptions;
  readonly #agent: Agent;
  readonly #server;
  readonly #watches = new Map<ServerResponse, string>();
  /** Paths of the watches that are to be told so. */
  readonly #gone = new Set<string>();
  #held: (() => void)[] | null = null;

  constructor(options: FaultProxyOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, ca: options.ca });
    this.#server = createServer({ cert: options.cert, key: options.key }, (incoming, response) => {
      // Whatever goes wrong here is a broken connection for the client.
      this.#handle(incoming, response).catch(() => void response.destroy());
    });
    this.#server.on('clientError', (_error, socket) => void socket.destroy());
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cutWatches({ gone } = { gone: false }): void {
    for (const [watch, path] of this.#watches) {
      if (gone) this.#gone.add(path);
      watch.destroy();
    }
  }

  cutAll(): void {
    this.#server.closeAllConnections();
  }

  holdWatches(): void {
    this.#held ??= [];
  }

  releaseWatches(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const write of held) write();
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const from = performance.now();
    const by = this.#options.user();
    const { rules } = this;
    const body = await readAll(incoming);
    if (rules.slowMs > 0) await delay(rules.slowMs);
    while (rules.silent && !response.destroyed) await delay(SILENCE_STEP_MS);
    if (rules.unreachable) return void response.destroy();
    const url = new URL(incoming.url ?? '/', this.#options.target);
    const isWatch = url.searchParams.has('watch');
    if (isWatch && this.#gone.delete(url.pathname)) return this.#tellGone(incoming, response);
    const code = this.#refusal(incoming.method ?? '');
    if (code !== undefined) {
      this.#tell({ incoming, body, by, from }, code, NO_ANSWER);
      return refuseWith(code, incoming, response);
    }
    const upstream = await this.#forward(incoming, body);
    if (isWatch) this.#passWatch(upstream, response, url.pathname);
    else await this.#pass({ incoming, upstream, response, body, by, from });
  }

  /** Both ways that API servers have for it. */
  #tellGone(incoming: IncomingMessage, response: ServerResponse): void {
    const message = 'too old resource version';
    const behaviour = this.#options.random.chance(0.5)
      ? refuse(410, { reason: 'Expired', message })
      : lines(errorLine(410, 'Expired', message));
    behaviour(incoming, response, () => undefined);
  }

  #refusal(method: string): number | undefined {
    const { refuse: rule } = this.rules;
    const { random } = this.#options;
    if (rule === null || !random.chance(rule.share)) return undefined;
    const code = random.pick(rule.codes);
    return code === 409 && method === 'GET' ? undefined : code;
  }

  #forward(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { method, url, headers } = incoming;
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${this.#options.target}${url}`,
        { method, headers, agent: this.#agent },
        resolve,
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  #passWatch(upstream: IncomingMessage, response: ServerResponse, path: string): void {
    if (this.rules.unreachable) return void [upstream, response].map((one) => one.destroy());
    this.#watches.set(response, path);
    response.on('close', () => {
      this.#watches.delete(response);
      upstream.destroy();
    });
    response.writeHead(upstream.statusCode ?? 502, upstream.headers);
    response.flushHeaders();
    const orHold = (write: () => void): void => {
      if (this.#held === null) write();
      else this.#held.push(write);
    };
    upstream.on('data', (chunk: Buffer) => orHold(() => response.write(chunk)));
    upstream.on('end', () => orHold(() => response.end()));
    upstream.on('error', () => response.destroy());
  }

  async #pass(exchange: Exchange): Promise<void> {
    const { upstream, response } = exchange;
    const answer = await readAll(upstream);
    const status = upstream.statusCode ?? 502;
    this.#tell(exchange, status, answer);
    const { random } = this.#options;
    const lost = this.rules.unreachable || random.chance(this.rules.loseAnswers);
    if (lost && random.chance(0.5)) return void response.destroy();
    response.writeHead(status, upstream.headers);
    if (!lost) return void response.end(answer);
    response.write(answer.subarray(0, answer.length / 2), () => response.destroy());
  }

  /** Before the client can know, so that nothing which comes of the answer seems to be earlier. */
  #tell({ incoming, body, by, from }: Asked, status: number, answer: Buffer): void {
    const { method = '', url = '' } = incoming;
    if (method === 'GET') return;
    const to = performance.now();
    const [path = ''] = url.split('?');
    const write = { by, from, to, method, path, body: parse(body), status, answer: parse(answer) };
    this.#options.onWrite(write);
  }
}

const NO_ANSWER = Buffer.alloc(0);

interface Asked {
  readonly incoming: IncomingMessage;
  readonly body: Buffer;
  readonly by: string;
  readonly from: number;
}

interface Exchange extends Asked {
  readonly upstream: IncomingMessage;
  readonly response: ServerResponse;
}

const REASONS: Readonly<Record<number, string>> = {
  409: 'Conflict',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

function refuseWith(code: number, incoming: IncomingMessage, response: ServerResponse): void {
  const headers = { ...JSON_TYPE, ...(code === 429 ? { 'retry-after': '1' } : {}) };
  const status = { reason: REASONS[code] ?? '', message: `the fault proxy says ${code}` };
  refuse(code, status, headers)(incoming, response, () => undefined);
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}
