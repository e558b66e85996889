import type { Outcome, ReconcileResult } from '../../../core/outcome.ts';
import { createCounter, createHistogram, type Family } from './families.ts';
import { createServiceState } from './service-state.ts';

/** What runs of Service keys come to. */
export interface RunMetrics {
  /** A run came to its end; `result` where it was done. */
  finished(key: string, outcome: Outcome['kind'], result?: ReconcileResult): void;
  /** From the time a change was seen (a job's `at`) to the last write that it led to, in ms. */
  eventToWrite(ms: number): void;
  lockLost(): void;
  /** The view could not answer, so that a run read live. */
  viewMissed(): void;
}

const LATENCY_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** @param maxServices of how many Services the last result is kept. */
export function createRunMetrics(maxServices: number): {
  readonly record: RunMetrics;
  readonly families: readonly Family[];
} {
  const services = createServiceState(maxServices);
  const outcomes = createCounter(
    'tether_reconciles_total',
    'Runs, by what they came to.',
    ['outcome'],
    [['done'], ['retry'], ['terminal']],
  );
  const latency = createHistogram(
    'tether_event_to_write_seconds',
    'From the time a watcher saw a change to the last write of an EndpointSlice that it led to.',
    LATENCY_BOUNDS,
  );
  const lost = createCounter(
    'tether_lock_losses_total',
    'Runs cut short by the loss of their lock.',
  );
  const missed = createCounter(
    'tether_view_misses_total',
    'Runs that read live because the view was not in sync.',
  );
  return {
    families: [outcomes, latency, lost, missed, ...services.families],
    record: {
      finished: (key, outcome, result) => {
        outcomes.add(1, outcome);
        if (result) services.state.record(key, result);
      },
      eventToWrite: (ms) => latency.observe(Math.max(0, ms) / 1000),
      lockLost: () => lost.add(1),
      viewMissed: () => missed.add(1),
    },
  };
}
