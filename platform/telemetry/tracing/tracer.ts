/** What a span may carry: plain values that are safe to show to anybody who reads traces. */
export type Attributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** One step of the work, while it lasts. */
export interface Span {
  /** W3C `traceparent` of this span: 55 characters, for a job's `trace`. */
  readonly traceparent: string;
  set(attributes: Attributes): void;
  /** Marks the step as failed; credentials are taken out of the text. */
  fail(reason: string): void;
  /** To be called once; what comes later is not recorded. */
  end(): void;
}

export interface SpanOptions {
  /** `producer` and `consumer` are the two ends of a queue, `client` is a request. Default: internal. */
  readonly kind?: 'internal' | 'producer' | 'consumer' | 'client';
  /** A span of this process, or the `traceparent` of another one's. Default: begins a trace. */
  readonly parent?: Span | string | undefined;
  /** When the step began, ms since 1970; default now. */
  readonly startedAt?: number;
  readonly attributes?: Attributes;
}

/**
 * Where traces go. Nothing holds one unless traces are on: whoever may have one gets `undefined` then, and
 * what is decorated with spans is not decorated.
 */
export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
  /** Runs `work`, and all that it awaits, with this span as the current one. */
  within<T>(span: Span, work: () => T): T;
  /** The span in which this code runs, unless it has ended. */
  current(): Span | undefined;
  /** Sends what is left, for two seconds at most; never rejects. */
  close(): Promise<void>;
}
