import { createCounter, createGauge, createHistogram, type Family } from './families.ts';

/** What look-ups record. */
export interface LookupMetrics {
  /** An answer was given; `code` is its HTTP status. */
  answered(code: number): void;
  /** Whether an answer could be given without reading the view. */
  cached(hit: boolean): void;
  /** ms from when a change in the view was heard of to its last write to a subscriber. */
  delivered(ms: number): void;
  /** A subscriber read too little to be written to. */
  slowReader(): void;
  /** Says where the gauges come from: they are read from the present state at each scrape. */
  stateFrom(read: () => LookupState): void;
}

export interface LookupState {
  readonly subscribers: number;
  /** Services whose endpoints this process has at hand. */
  readonly services: number;
  readonly endpoints: number;
}

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export function createLookupMetrics(): {
  readonly record: LookupMetrics;
  readonly families: readonly Family[];
} {
  const answers = createCounter('tether_lookups_total', 'Look-ups, by HTTP status.', ['code']);
  const cache = createCounter(
    'tether_lookup_cache_total',
    'Look-ups of endpoints, by whether what they ask for was at hand.',
    ['result'],
    [['hit'], ['miss']],
  );
  const delivery = createHistogram(
    'tether_lookup_event_seconds',
    'From when a change in the view was heard of to its last write to a subscriber.',
    BOUNDS,
  );
  const slow = createCounter(
    'tether_lookup_slow_readers_total',
    'Times that a subscriber was left out until it had read what it was sent.',
  );
  const state = createStateGauges();
  return {
    families: [answers, cache, delivery, slow, ...state.gauges],
    record: {
      answered: (code) => answers.add(1, String(code)),
      cached: (hit) => cache.add(1, hit ? 'hit' : 'miss'),
      delivered: (ms) => delivery.observe(Math.max(0, ms) / 1000),
      slowReader: () => slow.add(1),
      stateFrom: state.from,
    },
  };
}

function createStateGauges() {
  let read: (() => LookupState) | undefined;
  const gauge = (name: keyof LookupState, help: string): Family =>
    createGauge(`tether_lookup_${name}`, help, [], () => {
      const state = read?.();
      return state === undefined ? [] : [[state[name]]];
    });
  return {
    from: (source: () => LookupState) => void (read = source),
    gauges: [
      gauge('subscribers', 'Subscribers of this process now.'),
      gauge('services', 'Services whose endpoints this process has at hand.'),
      gauge('endpoints', 'Endpoints of these Services.'),
    ],
  };
}
