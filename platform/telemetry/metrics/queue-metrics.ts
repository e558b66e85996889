import type { QueueName } from '../../../core/job.ts';
import {
  createCounter,
  createGauge,
  createHistogram,
  type Counter,
  type Family,
  type Histogram,
} from './families.ts';

/** A work queue as this process sees it, under the names that every controller uses. */
export interface QueueMetrics {
  /** Keys that this process put into the queue. */
  added(count: number): void;
  /** A run begins, `waitedMs` after its key could have run. `run` is any text unique among those under way. */
  started(run: string, waitedMs: number): void;
  /** The run is over, whatever came of it. */
  finished(run: string): void;
  /** A key is put back after a failure. */
  retried(): void;
}

interface Sources {
  /** Values of the label `name`. */
  readonly names: readonly QueueName[];
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** Keys that wait at present; null while unknown. */
  readonly depth: (name: QueueName) => number | null;
  /** For how long the oldest of them has waited, ms; null while unknown. */
  readonly oldestMs: (name: QueueName) => number | null;
}

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** When the runs under way began, by their ids. */
type Running = Map<string, number>;

/** The same series for each queue; `of` gives what records those of one. */
export function createQueueMetrics(sources: Sources): {
  readonly of: (name: QueueName) => QueueMetrics;
  readonly families: readonly Family[];
} {
  const { names, monotonicMs } = sources;
  const running = new Map<QueueName, Running>(names.map((name) => [name, new Map()]));
  const adds = counter(names, 'adds_total', 'Keys that this process put into the queue.');
  const retries = counter(
    names,
    'retries_total',
    'Runs that failed, so that their key was put back.',
  );
  const waited = histogram(
    names,
    'queue_duration_seconds',
    'Time that a key waited before its run began; one that was put off, since it was due again.',
  );
  const worked = histogram(names, 'work_duration_seconds', 'Time that a run took.');
  const of = (name: QueueName): QueueMetrics => ({
    added: (count) => adds.add(count, name),
    retried: () => retries.add(1, name),
    started: (run, waitedMs) => {
      running.get(name)?.set(run, monotonicMs());
      waited.observe(Math.max(0, waitedMs) / 1000, name);
    },
    finished: (run) => {
      const at = running.get(name)?.get(run);
      if (at === undefined) return;
      running.get(name)?.delete(run);
      worked.observe((monotonicMs() - at) / 1000, name);
    },
  });
  return { of, families: [...gauges(sources, running), adds, waited, worked, retries] };
}

function gauges(
  { names, monotonicMs, depth, oldestMs }: Sources,
  running: ReadonlyMap<QueueName, Running>,
): Family[] {
  const ages = (name: QueueName): number[] =>
    [...(running.get(name)?.values() ?? [])].map((at) => (monotonicMs() - at) / 1000);
  const gauge = (metric: string, help: string, read: Sources['depth']): Family =>
    createGauge(metric, help, ['name'], () =>
      names.flatMap((name): [number, string][] => {
        const value = read(name);
        return value === null ? [] : [[value, name]];
      }),
    );
  return [
    gauge(
      'workqueue_depth',
      'Keys that wait, in the queue as a whole (all but look-ups and boards show it).',
      depth,
    ),
    gauge(
      'tether_queue_oldest_seconds',
      'Time that the oldest key has waited for a worker (all but look-ups and boards show it); 0 when none does.',
      (name) => {
        const ms = oldestMs(name);
        return ms === null ? null : ms / 1000;
      },
    ),
    gauge('workqueue_unfinished_work_seconds', 'Ages of the runs under way, summed.', (name) =>
      ages(name).reduce((sum, age) => sum + age, 0),
    ),
    gauge(
      'workqueue_longest_running_processor_seconds',
      'Age of the oldest run under way.',
      (name) => Math.max(0, ...ages(name)),
    ),
  ];
}

function counter(names: readonly QueueName[], suffix: string, help: string): Counter {
  return createCounter(`workqueue_${suffix}`, help, ['name'], asSeries(names));
}

function histogram(names: readonly QueueName[], suffix: string, help: string): Histogram {
  return createHistogram(`workqueue_${suffix}`, help, BOUNDS, ['name'], asSeries(names));
}

/** From the start on, so that a rate has something to begin with. */
const asSeries = (names: readonly QueueName[]): string[][] => names.map((name) => [name]);
