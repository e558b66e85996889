import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Counter, Histogram, Registry } from 'prom-client';
import type { LeftOut, ReconcileResult } from '../../core/outcome.ts';
import { createMetrics, type MetricsOptions } from '../../platform/telemetry/metrics.ts';
import { createCounter, createHistogram } from '../../platform/telemetry/metrics/families.ts';

function metricsOf(options: MetricsOptions = {}) {
  return createMetrics({ processMetrics: () => Promise.resolve(''), ...options });
}

/** The value of each series, by its name and labels as they are written. */
async function scrape(metrics: { render(): Promise<string> }): Promise<Record<string, number>> {
  const lines = (await metrics.render()).split('\n').filter((line) => !/^(#|$)/.test(line));
  return Object.fromEntries(
    lines.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}

function resultOf(some: Partial<ReconcileResult>): ReconcileResult {
  const none = { created: 0, updated: 0, deleted: 0, names: [], leftOut: [] };
  return { ...none, endpoints: 0, ready: 0, changed: 0, slices: 0, read: 'view', ...some };
}

function leftOut(workload: string, reason: LeftOut['reason']): LeftOut {
  return { workload, uid: workload, reason, detail: '', warn: false };
}

describe('the text is what prom-client makes of the same observations', () => {
  const labels = ['verb', 'code'];
  const values = [
    ['get', '200'],
    ['a"b\\c\nd', ''],
  ] as const;

  test('counter', async () => {
    const registers = [new Registry()];
    const theirs = new Counter({
      name: 'a_total',
      help: 'A\nb \\.',
      labelNames: labels,
      registers,
    });
    const ours = createCounter('a_total', 'A\nb \\.', labels);
    for (const [verb, code] of values) {
      theirs.inc({ verb, code }, 2.5);
      ours.add(2.5, verb, code);
    }
    expect(`${ours.render()}\n`).toBe(await registers[0]?.metrics());
  });

  test('histogram', async () => {
    const registers = [new Registry()];
    const buckets = [0.1, 1];
    const theirs = new Histogram({ name: 'h', help: 'H.', buckets, registers });
    const ours = createHistogram('h', 'H.', buckets);
    for (const seconds of [0.05, 0.1, 0.5, 1, 7]) {
      theirs.observe(seconds);
      ours.observe(seconds);
    }
    const sorted = (text: string | undefined) => text?.split('\n').filter(Boolean).sort();
    expect(sorted(ours.render())).toEqual(sorted(await registers[0]?.metrics()));
  });
});

test('every metric has its row in docs/metrics.md, and there is no other row', async () => {
  const docs = readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
  const documented = [...docs.matchAll(/^\| `((?:tether|workqueue)_\w+)`/gm)].map(
    ([, name]) => name,
  );
  const text = await metricsOf().render();
  const exported = [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  expect(new Set(exported)).toEqual(new Set(documented));
  expect(documented).toHaveLength(exported.length);
});

test('the queue: what waits, what runs, and for how long', async () => {
  let now = 1_000;
  const metrics = metricsOf({ monotonicMs: () => now });
  const oldestMs = { service: 2_500, cluster: 0 };
  metrics.shareFrom(() =>
    Promise.resolve({ depth: { service: 7, cluster: 2 }, oldestMs, stuck: 1 }),
  );
  metrics.queue.added(3);
  metrics.queue.started('a', 40);
  metrics.queue.started('b', -5);
  now += 2_000;
  metrics.queue.finished('a');
  metrics.queue.finished('never started');
  metrics.queue.retried();
  expect(await scrape(metrics)).toMatchObject({
    'workqueue_depth{name="service"}': 7,
    'tether_queue_oldest_seconds{name="service"}': 2.5,
    'tether_queue_oldest_seconds{name="cluster"}': 0,
    'workqueue_adds_total{name="service"}': 3,
    'workqueue_retries_total{name="service"}': 1,
    'workqueue_queue_duration_seconds_count{name="service"}': 2,
    'workqueue_queue_duration_seconds_sum{name="service"}': 0.04,
    'workqueue_work_duration_seconds_sum{name="service"}': 2,
    'workqueue_work_duration_seconds_bucket{name="service",le="2.5"}': 1,
    'workqueue_unfinished_work_seconds{name="service"}': 2,
    'workqueue_longest_running_processor_seconds{name="service"}': 2,
    tether_stuck_keys: 1,
    tether_redis_up: 1,
  });
});

test('the queue of cluster Secrets has the same series, and numbers of its own', async () => {
  let now = 1_000;
  const metrics = metricsOf({ monotonicMs: () => now });
  metrics.shareFrom(() => Promise.resolve({ depth: { service: 7, cluster: 2 }, stuck: 0 }));
  const seriesOf = (found: object, name: string): string[] =>
    Object.keys(found)
      .filter((series) => series.includes(`name="${name}"`))
      .map((series) => series.replace(name, ''));
  const fresh = await scrape(metrics);
  expect(seriesOf(fresh, 'cluster')).toEqual(seriesOf(fresh, 'service'));
  metrics.queue.started('1', 0);
  metrics.clusterQueue.added(1);
  metrics.clusterQueue.retried();
  // Ids are of a queue: both may have a job 1.
  metrics.clusterQueue.started('1', 40);
  now += 500;
  metrics.clusterQueue.finished('1');
  expect(await scrape(metrics)).toMatchObject({
    'workqueue_depth{name="cluster"}': 2,
    'workqueue_adds_total{name="cluster"}': 1,
    'workqueue_retries_total{name="cluster"}': 1,
    'workqueue_queue_duration_seconds_sum{name="cluster"}': 0.04,
    'workqueue_work_duration_seconds_sum{name="cluster"}': 0.5,
    'workqueue_longest_running_processor_seconds{name="cluster"}': 0,
    'workqueue_depth{name="service"}': 7,
    'workqueue_adds_total{name="service"}': 0,
    'workqueue_retries_total{name="service"}': 0,
    'workqueue_work_duration_seconds_count{name="service"}': 0,
    'workqueue_longest_running_processor_seconds{name="service"}': 0.5,
  });
});

test.each([
  [true, 1],
  [false, 0],
  [null, undefined],
])('the eviction policy of Redis: noeviction %s', async (noEviction, expected) => {
  const metrics = metricsOf();
  metrics.shareFrom(() => Promise.resolve({ depth: {}, stuck: 0, noEviction }));
  expect((await scrape(metrics))['tether_redis_noeviction']).toBe(expected);
});

describe('endpoints and slices', () => {
  test('follow the last result of each Service', async () => {
    const metrics = metricsOf();
    const { finished } = metrics.reconcile;
    finished('ns/a', 'done', resultOf({ endpoints: 5, ready: 3, slices: 1 }));
    finished('ns/b', 'done', resultOf({ endpoints: 250, ready: 250, slices: 3 }));
    finished('ns/a', 'done', resultOf({ endpoints: 2, ready: 1, slices: 1 }));
    finished('ns/a', 'retry');
    expect(await scrape(metrics)).toMatchObject({
      tether_services: 2,
      'tether_endpoints{state="ready"}': 251,
      'tether_endpoints{state="not_ready"}': 1,
      tether_slices: 4,
      'tether_reconciles_total{outcome="done"}': 3,
      'tether_reconciles_total{outcome="retry"}': 1,
      'tether_reconciles_total{outcome="terminal"}': 0,
    });
    finished('ns/b', 'done', resultOf({}));
    expect(await scrape(metrics)).toMatchObject({ tether_services: 1, tether_slices: 1 });
  });

  test('forget the Service that ran longest ago rather than grow for ever', async () => {
    const metrics = metricsOf({ maxServices: 2 });
    for (const [index, key] of ['a', 'b', 'a', 'c'].entries()) {
      metrics.reconcile.finished(key, 'done', resultOf({ slices: 10 ** index }));
    }
    expect(await scrape(metrics)).toMatchObject({ tether_services: 2, tether_slices: 1_100 });
  });

  test('count a left-out workload once a reason, and those of other Services never', async () => {
    const metrics = metricsOf();
    const all = [
      leftOut('w1', 'address-refused'),
      leftOut('w1', 'address-refused'),
      leftOut('w2', 'address-refused'),
      leftOut('w2', 'no-port-resolves'),
      leftOut('w3', 'selector-mismatch'),
    ];
    metrics.reconcile.finished('ns/a', 'done', resultOf({ leftOut: all }));
    const found = await scrape(metrics);
    expect(found).toMatchObject({
      'tether_left_out_workloads{reason="address-refused"}': 2,
      'tether_left_out_workloads{reason="no-port-resolves"}': 1,
    });
    expect(Object.keys(found).join()).not.toContain('selector-mismatch');
  });
});

test('requests, and slice writes by result; the length of a watch is no latency', async () => {
  const metrics = metricsOf();
  const { onRequest } = metrics.api;
  onRequest('get', 'services', 200, 0.003);
  onRequest('watch', 'services', 200, 300);
  for (const code of [201, 409, 404, 422, 0]) onRequest('create', 'endpointslices', code, 0.01);
  const found = await scrape(metrics);
  expect(found).toMatchObject({
    'tether_api_requests_total{verb="get",resource="services",code="200"}': 1,
    'tether_api_requests_total{verb="watch",resource="services",code="200"}': 1,
    'tether_api_request_seconds_count{verb="create",resource="endpointslices"}': 5,
    'tether_slice_writes_total{verb="create",result="ok"}': 1,
    'tether_slice_writes_total{verb="create",result="conflict"}': 1,
    'tether_slice_writes_total{verb="create",result="not_found"}': 1,
    'tether_slice_writes_total{verb="create",result="refused"}': 1,
    'tether_slice_writes_total{verb="create",result="unreachable"}': 1,
  });
  expect(Object.keys(found).join()).not.toContain('api_request_seconds_count{verb="watch"');
});

test('watches: restarts, what only a list found, time since the last word', async () => {
  let age = 12_500;
  const metrics = metricsOf();
  metrics.watch.contactsFrom(() => [['service', age]]);
  metrics.watch.restarted('service');
  metrics.watch.relistChanged('slice', 4);
  expect(await scrape(metrics)).toMatchObject({
    'tether_watch_restarts_total{resource="service"}': 1,
    'tether_relist_changes_total{resource="slice"}': 4,
    'tether_watch_last_contact_seconds{resource="service"}': 12.5,
  });
  age = 3_000;
  expect(await scrape(metrics)).toMatchObject({
    'tether_watch_last_contact_seconds{resource="service"}': 3,
  });
});

test.each([
  ['fails', () => Promise.reject(new Error('away'))],
  ['never answers', () => new Promise<never>(() => undefined)],
])('a Redis that %s is down, and what it knows is left out', async (_, read) => {
  const metrics = metricsOf();
  metrics.shareFrom(read);
  const found = await scrape(metrics);
  expect(found['tether_redis_up']).toBe(0);
  expect(Object.keys(found)).not.toContain('tether_stuck_keys');
  expect(Object.keys(found)).not.toContain('workqueue_depth{name="service"}');
});
