import { AsyncLocalStorage } from 'node:async_hooks';
import type * as Api from '@opentelemetry/api';
import type * as Sdk from '@opentelemetry/sdk-trace';
import { describeError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { redactText } from '../redact.ts';
import type { Sampling, TraceSettings } from './settings.ts';
import type { Attributes, Span, SpanOptions, Tracer } from './tracer.ts';

export interface OpenTracerOptions {
  readonly settings: TraceSettings;
  /** For the resource that spans belong to: `up`, `worker` … */
  readonly role: string;
  /** Unique for this process. */
  readonly id: string;
  readonly log: Logger;
}

/** Sending what is left at the end may take so long, ms. */
const CLOSE_MS = 2_000;
/** A collector that is away is told about so often at most, ms. */
const COMPLAIN_EVERY_MS = 10_000;
/** Spans that wait to be sent, some 15 MB of them; more are dropped. A first list of a large cluster fits. */
const MOST_WAITING = 16_384;
const BATCH = { maxExportBatchSize: 512, scheduledDelayMillis: 1_000 } as const;
const SUCCESS = 0;

/**
 * Starts to record traces and to send them by OTLP over HTTP. Endpoint, headers, certificates, timeout and
 * the names of the resource come from OTEL_* variables, which the packages read themselves. They are
 * imported here alone, so that nobody pays for them who has no traces.
 *
 * Gives undefined, and tells why, where they are not installed: work is not to fail for want of traces.
 */
export async function openTracer(options: OpenTracerOptions): Promise<Tracer | undefined> {
  const packages = await importPackages().catch((error: unknown) => {
    const reason = describeError(error);
    options.log.warn({ reason }, 'traces are off: the packages of OpenTelemetry were not loaded');
    return undefined;
  });
  if (packages === undefined) return undefined;
  const { api, sdk, resources, otlp } = packages;
  const own = {
    'service.name': 'tether',
    'service.instance.id': options.id,
    'tether.role': options.role,
  };
  const resource = resources
    .resourceFromAttributes(own)
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  const exporter = complaining(new otlp.OTLPTraceExporter(), options.log);
  const batches = new sdk.BatchSpanProcessor({ exporter, maxQueueSize: MOST_WAITING, ...BATCH });
  const sampler = samplerOf(sdk, options.settings.sampling);
  const provider = new sdk.TracerProvider({ resource, sampler, spanProcessors: [batches] });
  return tracerOn(api, provider);
}

async function importPackages() {
  const [api, sdk, resources, otlp] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  return { api, sdk, resources, otlp };
}

function samplerOf(sdk: typeof Sdk, { ratio, parentBased }: Sampling): Sdk.Sampler {
  const root = new sdk.TraceIdRatioBasedSampler(ratio);
  return parentBased ? new sdk.ParentBasedSampler({ root }) : root;
}

/** A collector that is away is nobody's failure: told now and then, and what it misses is gone. */
function complaining(exporter: Sdk.SpanExporter, log: Logger): Sdk.SpanExporter {
  let complainedAt = -Infinity;
  let lost = 0;
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }) => {
        // The processor's own handler of errors would have no better idea.
        done({ code: SUCCESS });
        if (code === SUCCESS) return;
        lost += spans.length;
        if (performance.now() - complainedAt < COMPLAIN_EVERY_MS) return;
        complainedAt = performance.now();
        const reason = describeError(error ?? 'the collector gave no reason');
        log.warn({ spans: lost, reason }, 'spans were not delivered, and are dropped');
        lost = 0;
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

function tracerOn(api: typeof Api, provider: Sdk.TracerProvider): Tracer {
  const tracer = provider.getTracer('tether');
  const current = new AsyncLocalStorage<OpenSpan>();
  return {
    start: (name, options = {}) => new OpenSpan(startSpan(api, tracer, name, options)),
    within: (span, work) => (span instanceof OpenSpan ? current.run(span, work) : work()),
    current: () => {
      const span = current.getStore();
      // What a run leaves behind, such as a timer, is no part of it any more.
      return span?.ended === false ? span : undefined;
    },
    close: () => closeWithin(provider, CLOSE_MS),
  };
}

function startSpan(
  api: typeof Api,
  tracer: Api.Tracer,
  name: string,
  { kind = 'internal', parent, startedAt, attributes }: SpanOptions,
): Api.Span {
  const kinds = {
    internal: api.SpanKind.INTERNAL,
    producer: api.SpanKind.PRODUCER,
    consumer: api.SpanKind.CONSUMER,
    client: api.SpanKind.CLIENT,
  };
  const options = {
    kind: kinds[kind],
    ...(startedAt === undefined ? {} : { startTime: startedAt }),
    ...(attributes === undefined ? {} : { attributes: readable(attributes) }),
  };
  return tracer.startSpan(name, options, contextOf(api, parent));
}

function contextOf(
  { ROOT_CONTEXT, trace }: typeof Api,
  parent: SpanOptions['parent'],
): Api.Context {
  if (parent === undefined) return ROOT_CONTEXT;
  const traceparent = typeof parent === 'string' ? parent : parent.traceparent;
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  const traceFlags = Number.parseInt(flags, 16);
  const isRemote = typeof parent === 'string';
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote });
}

/** `SpanStatusCode.ERROR` of the API. */
const ERROR = 2;

class OpenSpan implements Span {
  readonly traceparent: string;
  readonly #span: Api.Span;
  #ended = false;

  constructor(span: Api.Span) {
    this.#span = span;
    const { traceId, spanId, traceFlags } = span.spanContext();
    // https://www.w3.org/TR/trace-context/#traceparent-header
    this.traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`;
  }

  get ended(): boolean {
    return this.#ended;
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(readable(attributes));
  }

  fail(reason: string): void {
    this.#span.setStatus({ code: ERROR, message: redactText(reason) });
  }

  end(): void {
    this.#ended = true;
    this.#span.end();
  }
}

/** Without credentials, whoever put them in. */
function readable(attributes: Attributes): Record<string, string | number | boolean | string[]> {
  const clean: Record<string, string | number | boolean | string[]> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'string') clean[name] = redactText(value);
    else clean[name] = typeof value === 'object' ? value.map(redactText) : value;
  }
  return clean;
}

async function closeWithin(provider: Sdk.TracerProvider, ms: number): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  // What cannot be sent was complained of already.
  await Promise.race([provider.shutdown().catch(() => undefined), over.promise]);
  clearTimeout(timer);
}
