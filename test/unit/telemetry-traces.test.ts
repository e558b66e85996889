import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InvalidInputError } from '../../core/errors.ts';
import { silentLogger } from '../../core/logger.ts';
import type { Add, WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import { openTracer } from '../../platform/telemetry/tracing/open-tracer.ts';
import { traceSettings, type OtelEnv } from '../../platform/telemetry/tracing/settings.ts';
import { traceAdds } from '../../platform/telemetry/tracing/traced-queue.ts';
import type { Tracer } from '../../platform/telemetry/tracing/tracer.ts';
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('traces are', () => {
  it.each<[string, OtelEnv]>([
    ['without any variable', {}],
    ['with an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['with a sampler alone', { OTEL_TRACES_SAMPLER: 'always_on' }],
    ['with the exporter none', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
    ['with the SDK disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
  ])('off %s', (_, env) => {
    expect(traceSettings(env)).toBeUndefined();
  });

  it.each<[string, OtelEnv, object]>([
    ['an endpoint', ENDPOINT, { ratio: 1, parentBased: true }],
    ['the exporter alone', { OTEL_TRACES_EXPORTER: 'otlp' }, { ratio: 1, parentBased: true }],
    [
      'a share of them',
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      { ratio: 0.25, parentBased: false },
    ],
  ])('on with %s', (_, env, sampling) => {
    expect(traceSettings(env)).toEqual({ sampling });
  });

  it.each<[keyof OtelEnv, string]>([
    ['OTEL_TRACES_EXPORTER', 'zipkin'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '10'],
  ])('refused, in one line that names it, with a wrong %s', (name, value) => {
    const complaint = (): unknown => {
      try {
        return traceSettings({ ...ENDPOINT, [name]: value });
      } catch (error) {
        return error;
      }
    };
    const error = complaint();
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error).toMatchObject({ field: name, message: expect.stringMatching(`^${name} .*$`) });
  });
});

describe('a tracer', () => {
  let collector: TraceCollector;
  beforeAll(async () => {
    collector = await startTraceCollector();
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = collector.url;
  });
  afterAll(async () => {
    delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT'];
    await collector.close();
  });

  const open = async (ratio: number): Promise<Tracer> => {
    const settings = { sampling: { ratio, parentBased: true } };
    const tracer = await openTracer({ settings, role: 'test', id: 'test-1', log: silentLogger });
    if (tracer === undefined) throw new Error('the packages of OpenTelemetry are not installed');
    return tracer;
  };

  it('takes credentials out of what it is told', async () => {
    const tracer = await open(1);
    const url = 'redis://:hunter2@redis.example:6379';
    const span = tracer.start('step', { attributes: { a: url, b: [url] } });
    span.fail(`could not reach ${url}`);
    span.end();
    await tracer.close();
    expect(collector.spans()).toMatchObject([
      { name: 'step', failure: 'could not reach redis://[hidden]@redis.example:6379' },
    ]);
    expect(collector.text()).not.toContain('hunter2');
  });

  it('gives each add a trace of its own, and goes on with that of a run', async () => {
    const tracer = await open(0);
    const added: Add[] = [];
    const queue = traceAdds(
      { addEvents: async (adds: readonly Add[]) => void added.push(...adds) } as WorkQueue,
      'service',
      tracer,
    );
    const add = { key: { namespace: 'shop', name: 'web' }, reason: 'it changed', at: 1 };
    await queue.addEvents([add, add]);
    const run = tracer.start('reconcile service');
    await tracer.within(run, () => queue.addEvents([add]));
    run.end();
    await tracer.close();
    const traces = added.map(({ trace = '' }) => trace);
    // 00: by the sampler, nothing of them is recorded, by workers either.
    for (const trace of traces) expect(trace).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    const ids = traces.map((trace) => trace.split('-')[1]);
    expect(new Set(ids).size).toBe(3);
    expect(ids[2]).toBe(run.traceparent.split('-')[1]);
  });
});
