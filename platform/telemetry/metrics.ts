import type { ClusterSnapshot } from '../../core/cluster-snapshot.ts';
import { QUEUE_NAMES, type QueueName } from '../../core/job.ts';
import type { EventResult } from '../kube/events.ts';
import {
  createCounter,
  createGauge,
  createHistogram,
  type Counter,
  type Family,
} from './metrics/families.ts';
import { createClusterMetrics, type ClusterMetrics } from './metrics/cluster-metrics.ts';
import { createLookupMetrics, type LookupMetrics } from './metrics/lookup-metrics.ts';
import { createQueueMetrics, type QueueMetrics } from './metrics/queue-metrics.ts';
import { createRunMetrics, type RunMetrics } from './metrics/run-metrics.ts';
import { createTriggerMetrics, type TriggerMetrics } from './metrics/trigger-metrics.ts';
import { createWatchMetrics, type WatchMetrics } from './metrics/watch-metrics.ts';

/** What is known of Redis and the queue only by asking; asked once a scrape. */
export interface SharedState {
  /** Keys that wait in each queue. */
  readonly depth: Readonly<Partial<Record<QueueName, number>>>;
  /** For how long the oldest of these has waited, ms. */
  readonly oldestMs?: Readonly<Partial<Record<QueueName, number>>>;
  /** Keys that failed so often in a row that somebody should look. */
  readonly stuck: number;
  /** Whether Redis keeps every key when its memory is full; null where it does not tell. */
  readonly noEviction?: boolean | null;
  readonly clusters?: ClusterSnapshot;
}

/** What a process records about itself. docs/metrics.md lists the names; recording never throws. */
export interface Metrics {
  /** Of Service keys. */
  readonly queue: QueueMetrics;
  /** Of keys of cluster Secrets. */
  readonly clusterQueue: QueueMetrics;
  readonly reconcile: RunMetrics;
  readonly api: {
    /**
     * A request to the API server is over; fits KubeClientOptions.observe. `code` is the HTTP status,
     * or 0 when there was none. Writes to `endpointslices` count as slice writes as well; how long a
     * watch lasted says nothing and is left out.
     */
    onRequest(verb: string, resource: string, code: number, seconds: number): void;
    /** Says since when the API server has not answered (ms; 0: it does); asked at each scrape. */
    outageFrom(readMs: () => number): void;
  };
  readonly watch: WatchMetrics;
  readonly cluster: ClusterMetrics;
  readonly lookup: LookupMetrics;
  readonly trigger: TriggerMetrics;
  /** What became of a Kubernetes Event; fits `observe` of createEventSink. */
  readonly onEvent: (result: EventResult) => void;
  /** Says where shared state comes from; null while Redis does not answer, within a second. */
  shareFrom(read: () => Promise<SharedState | null>): void;
  /** All of it in Prometheus' text format 0.0.4, with Node's own metrics. */
  render(): Promise<string>;
}

export interface MetricsOptions {
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs?: () => number;
  /** Services whose last result is kept. */
  readonly maxServices?: number;
  /** Node's own metrics (prom-client's), as text; imported at the first scrape. */
  readonly processMetrics?: () => Promise<string>;
}

const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const WRITE_VERBS = new Set(['create', 'update', 'patch', 'delete']);
const SLICES = 'endpointslices';
const SHARED_TIMEOUT_MS = 1_000;

/** Metrics of one process: plain numbers, turned into text when they are scraped. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  const monotonicMs = options.monotonicMs ?? (() => performance.now());
  let readShared: () => Promise<SharedState | null> = () => Promise.resolve(null);
  let shared: SharedState | null = null;
  const depth = (name: QueueName): number | null => shared?.depth[name] ?? null;
  const oldestMs = (name: QueueName): number | null => shared?.oldestMs?.[name] ?? null;
  const queues = createQueueMetrics({ names: QUEUE_NAMES, monotonicMs, depth, oldestMs });
  const runs = createRunMetrics(options.maxServices ?? 50_000);
  const api = apiMetrics();
  const watch = createWatchMetrics();
  const cluster = createClusterMetrics(() => shared?.clusters ?? null);
  const lookup = createLookupMetrics();
  const trigger = createTriggerMetrics();
  const events = eventCounter();
  const groups = [queues, runs, api, watch, cluster, lookup, trigger].map(
    (group) => group.families,
  );
  const families = [...groups.flat(), events, ...sharedGauges(() => shared)];
  return {
    queue: queues.of('service'),
    clusterQueue: queues.of('cluster'),
    reconcile: runs.record,
    api: api.record,
    watch: watch.record,
    cluster: cluster.record,
    lookup: lookup.record,
    trigger: trigger.record,
    onEvent: (result) => events.add(1, result),
    shareFrom: (read) => void (readShared = read),
    render: async () => {
      const processMetrics = options.processMetrics ?? nodeMetrics;
      const [state, own] = await Promise.all([withinTime(readShared), processMetrics()]);
      shared = state;
      return `${families.map((family) => family.render()).join('\n')}\n${own}`;
    },
  };
}

function sharedGauges(read: () => SharedState | null): Family[] {
  return [
    createGauge('tether_stuck_keys', 'Keys that failed 15 times in a row or more.', [], () => {
      const state = read();
      return state ? [[state.stuck]] : [];
    }),
    createGauge('tether_redis_up', 'Whether Redis answered this scrape (1) or not (0).', [], () => [
      [read() ? 1 : 0],
    ]),
    createGauge(
      'tether_redis_noeviction',
      'Whether Redis keeps every key when its memory is full (1) or may evict some (0); none where it does not say.',
      [],
      () => {
        const keeps = read()?.noEviction ?? null;
        return keeps === null ? [] : [[keeps ? 1 : 0]];
      },
    ),
  ];
}

function eventCounter(): Counter {
  return createCounter(
    'tether_events_total',
    'Kubernetes Events that were to be written, by what became of them.',
    ['result'],
  );
}

function apiMetrics() {
  const requests = createCounter(
    'tether_api_requests_total',
    'Requests to the API server, by HTTP status (0: no answer).',
    ['verb', 'resource', 'code'],
  );
  const duration = createHistogram(
    'tether_api_request_seconds',
    'Time that a request to the API server took.',
    REQUEST_BOUNDS,
    ['verb', 'resource'],
  );
  const writes = createCounter(
    'tether_slice_writes_total',
    'Writes of EndpointSlices, by result.',
    ['verb', 'result'],
  );
  let readMs = (): number => 0;
  const outage = createGauge(
    'tether_api_outage_seconds',
    'How long this worker has taken no keys, as the API server does not answer it; 0: it does.',
    [],
    () => [[readMs() / 1000]],
  );
  return {
    families: [requests, duration, writes, outage],
    record: {
      outageFrom: (read: typeof readMs) => void (readMs = read),
      onRequest: (verb: string, resource: string, code: number, seconds: number) => {
        requests.add(1, verb, resource, String(code));
        if (verb !== 'watch') duration.observe(seconds, verb, resource);
        if (resource === SLICES && WRITE_VERBS.has(verb)) writes.add(1, verb, resultOf(code));
      },
    },
  };
}

function resultOf(code: number): string {
  if (code >= 200 && code < 300) return 'ok';
  if (code === 409) return 'conflict';
  if (code === 404) return 'not_found';
  return code === 0 ? 'unreachable' : 'refused';
}

/** What `read` gives; null when it fails or takes too long: a scrape must not hang on Redis. */
async function withinTime(read: () => Promise<SharedState | null>): Promise<SharedState | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), SHARED_TIMEOUT_MS);
  try {
    return await Promise.race([read(), late.promise]);
  } catch {
    // That Redis failed is what tether_redis_up says.
    return null;
  } finally {
    clearTimeout(timer);
  }
}

let nodeRegistry: Promise<{ metrics(): Promise<string> }> | undefined;

/** CPU, memory, event loop and garbage collection, under the names that dashboards know. */
async function nodeMetrics(): Promise<string> {
  nodeRegistry ??= import('prom-client').then(({ collectDefaultMetrics, Registry }) => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    return registry;
  });
  return (await nodeRegistry).metrics();
}
