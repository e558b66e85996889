import type { Dispatcher } from 'undici';
import { ApiError, UnreachableError } from '../../core/errors.ts';
import { describeGarbage, failureOfAnswer, parseRetryAfter } from './answers.ts';
import type { ExchangeContext } from './exchange.ts';
import { LineSplitter } from './line-splitter.ts';
import { explainNetworkError } from './network-errors.ts';

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** One line of a watch. The object of an ERROR is a Status. */
export interface WatchEvent {
  readonly type: WatchEventType;
  readonly object: WatchedObject;
}

/** What can be relied on in the object of an event; everything else is the kind's own. */
export interface WatchedObject {
  readonly kind?: string;
  readonly metadata?: {
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export interface WatchStreamOptions {
  readonly what: string;
  readonly signal: AbortSignal | undefined;
  /** The stream is cut when it is silent for longer, the wait for its headers included; ms. */
  readonly idleMs: number;
  readonly onSettled: ((code: number) => void) | undefined;
}

/**
 * The server is there and answers, yet nothing can be made of the stream: silence, or lines that are
 * no events. Going on from the same version may well meet the same again.
 */
export class WatchDamagedError extends UnreachableError {
  constructor(what: string, problem: string) {
    super(what, new Error(problem));
    this.name = 'WatchDamagedError';
  }
}

const TYPES: ReadonlySet<string> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);
const MAX_ERROR_BODY_BYTES = 64 * 1024;
/** Batches that wait for a slow consumer before the socket is left unread. */
const MAX_WAITING_BATCHES = 64;

/**
 * The receiving end of one watch: turns chunks into batches of events, and any end but a clean one
 * into an error. See `KubeClient.watch` for what it gives.
 */
export class WatchStream implements Dispatcher.DispatchHandler {
  private readonly context: ExchangeContext;
  private readonly options: WatchStreamOptions;
  private readonly lines = new LineSplitter();
  private readonly idle: NodeJS.Timeout;
  private readonly onAbort: (() => void) | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private waiting: WatchEvent[][] = [];
  private ended: { readonly error?: unknown } | undefined;
  private wake: (() => void) | undefined;
  private status = 0;
  private contentType = '';
  private retryAfter: string | undefined;
  private errorBody = '';

  constructor(context: ExchangeContext, options: WatchStreamOptions) {
    this.context = context;
    this.options = options;
    this.idle = setTimeout(() => this.onIdle(), options.idleMs);
    const signal = options.signal;
    if (signal !== undefined) {
      this.onAbort = () => this.end({ error: signal.reason });
      signal.addEventListener('abort', this.onAbort, { once: true });
    }
  }

  /** The batches, in order; throws what ended the stream unless that was its clean end. */
  async *batches(): AsyncGenerator<WatchEvent[], void, undefined> {
    try {
      for (;;) {
        const batch = this.waiting.shift();
        if (batch !== undefined) {
          if (this.waiting.length === 0) this.controller?.resume();
          yield batch;
        } else if (this.ended !== undefined) {
          if ('error' in this.ended) throw this.ended.error;
          return;
        } else {
          await new Promise<void>((resolve) => (this.wake = resolve));
        }
      }
    } finally {
      this.end({});
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.ended !== undefined) controller.abort(new Error('ended'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.status = status;
    this.idle.refresh();
    this.contentType = String(headers['content-type'] ?? '');
    const retryAfter = headers['retry-after'];
    if (typeof retryAfter === 'string') this.retryAfter = retryAfter;
    if (status === 200) this.push([]);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.ended !== undefined) return;
    this.idle.refresh();
    if (this.status !== 200) {
      this.errorBody += chunk.toString('utf8');
      if (this.errorBody.length > MAX_ERROR_BODY_BYTES) this.onResponseEnd();
      return;
    }
    const events: WatchEvent[] = [];
    const problem = this.read(chunk, events);
    if (events.length > 0) this.push(events);
    if (problem !== undefined) this.end({ error: this.damaged(problem) });
    else if (this.waiting.length > MAX_WAITING_BATCHES) controller.pause();
  }

  onResponseEnd(): void {
    if (this.ended !== undefined) return;
    if (this.status === 200) {
      const rest = this.lines.pending;
      const cut = new Error(`${this.context.server} ended the watch in the middle of a line`);
      this.end(rest === 0 ? {} : { error: this.unreachable(cut) });
      return;
    }
    if (this.status === 401) this.context.unauthorized();
    const retryAfterMs = parseRetryAfter(this.retryAfter, Date.now());
    const body = this.context.redact(this.errorBody);
    const failure = failureOfAnswer(this.status, this.contentType, retryAfterMs, body);
    this.end({ error: new ApiError(this.options.what, failure) });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.end({ error: this.unreachable(explainNetworkError(this.context.server, error)) });
  }

  /** Parses the complete lines; returns what is wrong with the first bad one. */
  private read(chunk: Buffer, events: WatchEvent[]): string | undefined {
    const lines = this.lines.split(chunk);
    if (lines === undefined) return `${this.context.server} sent a line without an end`;
    for (const line of lines) {
      if (line === '') continue;
      const event = this.parse(line);
      if (event === undefined) {
        const garbage = describeGarbage(this.context.redact(line.slice(0, 4000)), this.contentType);
        return `${this.context.server} sent a watch line that is no event: ${garbage}`;
      }
      events.push(event);
    }
    return undefined;
  }

  /** What an ERROR says is shown to people, and a server may repeat in it what it was sent. */
  private parse(line: string): WatchEvent | undefined {
    const event = parseEvent(line);
    return event?.type === 'ERROR' ? parseEvent(this.context.redact(line)) : event;
  }

  private onIdle(): void {
    const seconds = this.options.idleMs / 1000;
    const silence = `${this.context.server} was silent for ${seconds} s, not even a bookmark came`;
    const problem = `${silence}; the connection is taken for dead`;
    // Before its headers it is a server that does not answer, like any other.
    const unanswered = this.status === 0;
    this.end({ error: unanswered ? this.unreachable(new Error(problem)) : this.damaged(problem) });
  }

  private push(batch: WatchEvent[]): void {
    this.waiting.push(batch);
    this.wake?.();
  }

  private end(how: { readonly error?: unknown }): void {
    if (this.ended !== undefined) return;
    this.ended = how;
    clearTimeout(this.idle);
    if (this.onAbort !== undefined) {
      this.options.signal?.removeEventListener('abort', this.onAbort);
    }
    // After a clean end there is nothing to abort, and the connection stays for the next watch.
    this.controller?.abort(new Error('ended'));
    this.options.onSettled?.(this.status);
    this.wake?.();
  }

  private damaged(problem: string): WatchDamagedError {
    return new WatchDamagedError(this.options.what, problem);
  }

  private unreachable(cause: unknown): UnreachableError {
    return new UnreachableError(this.options.what, cause);
  }
}

function parseEvent(line: string): WatchEvent | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { type, object } = parsed as { type?: unknown; object?: unknown };
  const known = typeof type === 'string' && TYPES.has(type);
  return known && typeof object === 'object' && object !== null
    ? (parsed as WatchEvent)
    : undefined;
}
