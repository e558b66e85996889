import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as OTLP/HTTP JSON has it, with what tests look at. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** '' for the first of a trace. */
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** What a failed span says; undefined for any other. */
  readonly failure: string | undefined;
}

/** What OpenTelemetry calls a collector: takes spans by OTLP over HTTP, and keeps them. */
export interface TraceCollector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  spans(): CollectedSpan[];
  /** All bodies as they came. */
  text(): string;
  /** `authorization` of each request. */
  readonly authorizations: readonly string[];
  close(): Promise<void>;
}

export async function startTraceCollector(): Promise<TraceCollector> {
  const bodies: string[] = [];
  const authorizations: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const taken = request.url === '/v1/traces' && request.method === 'POST';
      if (taken) bodies.push(body);
      authorizations.push(request.headers.authorization ?? '');
      response.writeHead(taken ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => bodies.flatMap((body) => spansOf(JSON.parse(body) as Export)),
    text: () => bodies.join('\n'),
    authorizations,
    close: () => closeServer(server),
  };
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly Value[] };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes: readonly { readonly key: string; readonly value: Value }[];
        readonly status: { readonly code: number; readonly message?: string };
      }[];
    }[];
  }[];
}

function spansOf({ resourceSpans }: Export): CollectedSpan[] {
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((one) => one.spans));
  return spans.map(({ name, traceId, spanId, parentSpanId = '', attributes, status }) => ({
    name,
    traceId,
    spanId,
    parentSpanId,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)])),
    failure: status.code === 2 ? (status.message ?? '') : undefined,
  }));
}

function plain(value: Value): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plain);
  return value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue);
}
