import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { clusterSecret } from '../support/cluster-secret.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload } from '../support/objects.ts';
import { complaintsOf, runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import {
  startTraceCollector,
  type CollectedSpan,
  type TraceCollector,
} from '../support/trace-collector.ts';
import { rigOf } from '../support/up-rig.ts';

const MARKER = 'hunter2-must-not-be-traced';
const LINKED = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'east', cluster: { server: 'https://192.0.2.1:6443' } }],
  users: [{ name: 'east', user: { token: MARKER } }],
  contexts: [{ name: 'east', context: { cluster: 'east', user: 'east' } }],
  'current-context': 'east',
});
/** Says which modules of OpenTelemetry a process asks for, on stderr. */
const TELL_IMPORTS = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ resolve(name, context, next) {
    if (name.includes('opentelemetry')) process.stderr.write('imports ' + name + '\\n');
    return next(name, context);
  } });
`)}`;

let collector: TraceCollector;
let links = '';
let ns = '';
const rig = rigOf(() => ns);

beforeAll(async () => {
  collector = await startTraceCollector();
  links = await freshNamespace('traces-links');
});
afterAll(() => collector.close());
beforeEach(async () => {
  ns = await freshNamespace('traces');
});

async function startUp(prefix: string, env: Record<string, string> = {}): Promise<TetherProcess> {
  const tether = spawnTether(['up', '--redis-prefix', prefix, '--namespace', links], {
    env: { NODE_OPTIONS: TELL_IMPORTS, ...env },
    lifetime: 'file',
  });
  await tether.untilLog(/"ready"|ready$/m);
  return tether;
}

async function serve(name: string): Promise<void> {
  await createService(ns, name);
  await createWorkload(ns, name, name);
  await rig.endpointsBecome(name, ['192.0.2.10 8080 ready']);
}

/** Waits for the span of a run. */
function runOf(name: string, key: string, more: object = {}): Promise<CollectedSpan> {
  const wanted = Object.entries({ 'tether.key': key, ...more });
  return eventually(() => {
    const spans = collector.spans().filter((span) => span.name === name);
    const found = spans.find(({ attributes }) =>
      wanted.every(([field, value]) => attributes[field] === value),
    );
    if (found === undefined) throw new Error(`no such run among ${JSON.stringify(spans)}`);
    return found;
  });
}

const parentOf = ({ traceId, parentSpanId }: CollectedSpan): CollectedSpan | undefined =>
  collector.spans().find((span) => span.traceId === traceId && span.spanId === parentSpanId);

const childrenOf = ({ traceId, spanId }: CollectedSpan): CollectedSpan[] =>
  collector.spans().filter((span) => span.traceId === traceId && span.parentSpanId === spanId);

describe('with a collector', () => {
  let tether: TetherProcess;
  beforeAll(async () => {
    tether = await startUp(`traces-${process.pid}`, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${MARKER}`,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=lab',
    });
  });

  it('has one trace from a change that was seen to the write that it led to', async () => {
    await serve('web');
    const wrote = { 'tether.outcome': 'done', 'tether.created': 1 };
    const run = await runOf('reconcile service', `${ns}/web`, wrote);
    expect(run.attributes).toMatchObject({ 'tether.class': 'event', 'tether.read': 'view' });
    expect(run.failure).toBeUndefined();
    const enqueue = parentOf(run);
    expect(enqueue).toMatchObject({ name: 'enqueue' });
    const seen = enqueue && parentOf(enqueue);
    const attributes = {
      'tether.key': `${ns}/web`,
      'tether.reason': expect.stringMatching(/changed$/),
    };
    expect(seen).toMatchObject({ name: 'watch event', parentSpanId: '', attributes });
    const steps = childrenOf(run);
    expect(steps.map(({ name }) => name).toSorted()).toEqual(
      ['create endpointslices', 'lock and read view', 'plan', 'record and unlock'].toSorted(),
    );
    const write = steps.find(({ name }) => name === 'create endpointslices');
    expect(write?.attributes).toMatchObject({
      'tether.verb': 'create',
      'tether.resource': 'endpointslices',
      'tether.name': `${ns}/${(await rig.onlySlice('web')).metadata?.name}`,
      'http.response.status_code': 201,
    });
  });

  it('has the same of cluster Secrets', async () => {
    const secret = clusterSecret('east', 'east', LINKED);
    await apiOk('POST', `/api/v1/namespaces/${links}/secrets`, secret);
    const run = await runOf('reconcile cluster', `${links}/east`);
    const steps = childrenOf(run).map(({ name }) => name);
    expect(steps).toEqual(expect.arrayContaining(['lock', 'get secrets', 'unlock']));
    expect(parentOf(run)).toMatchObject({ name: 'enqueue' });
  });

  it('sends what is left when it is stopped, and nothing of a secret ever', async () => {
    await serve('last');
    expect(await tether.stop()).toMatchObject({ code: 0 });
    const names = collector
      .spans()
      .filter(({ attributes }) => attributes['tether.key'] === `${ns}/last`);
    expect(names.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['watch event', 'enqueue', 'reconcile service']),
    );
    expect(collector.authorizations).toContain(`Bearer ${MARKER}`);
    expect(collector.text()).toContain('deployment.environment.name');
    expect(collector.text()).not.toContain(MARKER);
    expect(tether.stdout() + tether.stderr()).not.toContain(MARKER);
    expect(tether.stderr()).toContain('imports @opentelemetry/sdk-trace');
  });
});

it('serves as ever while the collector is away, and says so once', async () => {
  const tether = await startUp(`traces-away-${process.pid}`, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_TIMEOUT: '100',
  });
  await serve('web');
  await tether.untilLog(/spans were not delivered/);
  await serve('web-2');
  expect(await tether.stop()).toMatchObject({ code: 0, signal: null });
  const lines = complaintsOf(tether).filter((line) => line.includes('spans were not delivered'));
  expect(lines).toEqual([expect.stringMatching(/"reason":".*ECONNREFUSED/)]);
});

it('imports nothing of OpenTelemetry where traces are off', async () => {
  const tether = await startUp(`traces-off-${process.pid}`);
  await serve('web');
  await tether.stop();
  expect(tether.stderr()).not.toContain('imports @opentelemetry');
});

it('refuses a variable by which traces would go nowhere, with one line', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `localhost:4318/${MARKER}` };
  const { code, stderr, stdout } = await runTether(['watcher'], { env });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^tether: OTEL_EXPORTER_OTLP_ENDPOINT \(not shown\): expected .*\n$/);
  expect(stderr).not.toContain(MARKER);
});
