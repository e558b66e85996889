import type { Dispatcher } from 'undici';
import { ApiError, UnreachableError } from '../../core/errors.ts';
import { describeGarbage, failureOfAnswer, parseRetryAfter } from './answers.ts';
import { explainNetworkError } from './network-errors.ts';

/** Most bytes of an error's body: a Status is short. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;

/** What the exchange needs to know of the client that makes it. */
export interface ExchangeContext {
  /** `host:port`, for messages. */
  readonly server: string;
  /** Most bytes of an answer; more are cut off and make it an error. */
  readonly maxAnswerBytes: number;
  redact(text: string): string;
  unauthorized(): void;
}

export interface ExchangeOptions {
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Told once, when it is over; 0 when no answer came. */
  readonly onSettled: ((code: number) => void) | undefined;
}

/**
 * One request and its JSON answer, straight on undici's dispatch: no stream, no copy of headers, one
 * promise and one timer. It settles at the deadline whatever the connection does, also while the
 * request still waits for a connection.
 */
export class Exchange<T> implements Dispatcher.DispatchHandler {
  private readonly context: ExchangeContext;
  private readonly options: ExchangeOptions;
  private readonly resolve: (value: T) => void;
  private readonly reject: (error: unknown) => void;
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort: (() => void) | undefined;
  private controller: Dispatcher.DispatchController | undefined;
  private settled = false;
  private status = 0;
  private contentType = '';
  private retryAfter: string | undefined;
  private chunks: Buffer[] = [];
  private size = 0;

  constructor(
    context: ExchangeContext,
    options: ExchangeOptions,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.context = context;
    this.options = options;
    this.resolve = resolve;
    this.reject = reject;
    this.timer = setTimeout(() => this.onDeadline(), options.timeoutMs);
    const signal = options.signal;
    if (signal !== undefined) {
      this.onAbort = () => this.stop(signal.reason);
      signal.addEventListener('abort', this.onAbort, { once: true });
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.settled) controller.abort(new Error('given up while it waited for a connection'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    this.status = status;
    if (status >= 200 && status < 300) return;
    this.contentType = String(headers['content-type'] ?? '');
    const retryAfter = headers['retry-after'];
    if (typeof retryAfter === 'string') this.retryAfter = retryAfter;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return;
    this.size += chunk.length;
    this.chunks.push(chunk);
    const ok = this.status >= 200 && this.status < 300;
    const limit = this.context.maxAnswerBytes;
    if (ok && this.size > limit) {
      const cut = `${this.context.server} answered with more than ${limit} bytes; ask for less at once`;
      this.stop(this.unreachable(new Error(cut)));
    } else if (!ok && this.size > MAX_ERROR_BODY_BYTES) {
      this.finish();
      controller.abort(new Error('the rest of a long error is not read'));
    }
  }

  onResponseEnd(): void {
    if (!this.settled) this.finish();
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.settled) return;
    this.settle();
    this.reject(this.unreachable(explainNetworkError(this.context.server, error)));
  }

  private finish(): void {
    const code = this.status;
    this.settle(code);
    const text = bodyText(this.chunks);
    this.chunks = [];
    if (code >= 200 && code < 300) this.deliver(text);
    else this.refuse(code, text);
  }

  private deliver(text: string): void {
    let parsed: T;
    try {
      // The API server's word on the shape is taken; projections look at each field they use.
      parsed = JSON.parse(text) as T;
    } catch {
      // JSON.parse quotes the text in its message, which may be a Secret.
      const garbage = describeGarbage(this.context.redact(text.slice(0, 4000)), '');
      this.reject(
        this.unreachable(new Error(`${this.context.server} answered 200 with ${garbage}`)),
      );
      return;
    }
    this.resolve(parsed);
  }

  private refuse(code: number, text: string): void {
    if (code === 401) this.context.unauthorized();
    const retryAfterMs = parseRetryAfter(this.retryAfter, Date.now());
    const body = this.context.redact(text);
    const failure = failureOfAnswer(code, this.contentType, retryAfterMs, body);
    this.reject(new ApiError(this.options.what, failure));
  }

  private onDeadline(): void {
    const seconds = this.options.timeoutMs / 1000;
    this.stop(
      this.unreachable(new Error(`${this.context.server} gave no answer within ${seconds} s`)),
    );
  }

  /** Settles with an error and takes the request off the wire. */
  private stop(reason: unknown): void {
    if (this.settled) return;
    this.settle();
    this.reject(reason);
    this.controller?.abort(new Error('given up'));
  }

  private settle(code = 0): void {
    this.settled = true;
    clearTimeout(this.timer);
    if (this.onAbort !== undefined) {
      this.options.signal?.removeEventListener('abort', this.onAbort);
    }
    this.options.onSettled?.(code);
  }

  private unreachable(cause: unknown): UnreachableError {
    return new UnreachableError(this.options.what, cause);
  }
}

function bodyText(chunks: readonly Buffer[]): string {
  const only = chunks.length === 1 ? chunks[0] : undefined;
  return (only ?? Buffer.concat(chunks)).toString('utf8');
}
