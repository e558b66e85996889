import {
  createCounter,
  createGauge,
  createHistogram,
  type Counter,
  type Family,
  type Histogram,
} from './families.ts';

/** The work queue as this process sees it, under the names that every controller uses. */
export interface QueueMetrics {
  /** Keys that this process put into the queue. */
  added(count: number): void;
  /** A run begins, `waitedMs` after its key was queued. `run` is any text unique among those under way. */
  started(run: string, waitedMs: number): void;
  /** The run is over, whatever came of it. */
  finished(run: string): void;
  /** A key is put back after a failure. */
  retried(): void;
}

interface Sources {
  readonly name: string;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** Keys that wait at present; null while unknown. */
  readonly depth: () => number | null;
}

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createQueueMetrics(sources: Sources): {
  readonly record: QueueMetrics;
  readonly families: readonly Family[];
} {
  const { name, monotonicMs } = sources;
  const running = new Map<string, number>();
  const adds = counter(name, 'adds_total', 'Keys that this process put into the queue.');
  const retries = counter(
    name,
    'retries_total',
    'Runs that failed, so that their key was put back.',
  );
  const waited = histogram(
    name,
    'queue_duration_seconds',
    'Time that a key waited before its run began.',
  );
  const worked = histogram(name, 'work_duration_seconds', 'Time that a run took.');
  const record: QueueMetrics = {
    added: (count) => adds.add(count, name),
    retried: () => retries.add(1, name),
    started: (run, waitedMs) => {
      running.set(run, monotonicMs());
      waited.observe(Math.max(0, waitedMs) / 1000, name);
    },
    finished: (run) => {
      const at = running.get(run);
      if (at === undefined) return;
      running.delete(run);
      worked.observe((monotonicMs() - at) / 1000, name);
    },
  };
  return { record, families: [...gauges(sources, running), adds, waited, worked, retries] };
}

function gauges(
  { name, monotonicMs, depth }: Sources,
  running: ReadonlyMap<string, number>,
): Family[] {
  const ages = (): number[] => [...running.values()].map((at) => (monotonicMs() - at) / 1000);
  const gauge = (suffix: string, help: string, read: () => number | null): Family =>
    createGauge(`workqueue_${suffix}`, help, ['name'], () => {
      const value = read();
      return value === null ? [] : [[value, name]];
    });
  return [
    gauge(
      'depth',
      'Keys that wait, in the queue as a whole (every process shows the same).',
      depth,
    ),
    gauge('unfinished_work_seconds', 'Ages of the runs under way, summed.', () =>
      ages().reduce((sum, age) => sum + age, 0),
    ),
    gauge('longest_running_processor_seconds', 'Age of the oldest run under way.', () =>
      Math.max(0, ...ages()),
    ),
  ];
}

function counter(name: string, suffix: string, help: string): Counter {
  return createCounter(`workqueue_${suffix}`, help, ['name'], [[name]]);
}

function histogram(name: string, suffix: string, help: string): Histogram {
  return createHistogram(`workqueue_${suffix}`, help, BOUNDS, ['name'], [[name]]);
}
