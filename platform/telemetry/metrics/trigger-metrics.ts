import { createCounter, type Family } from './families.ts';

/** What requests for a reconcile record. */
export interface TriggerMetrics {
  /** An answer was given; `code` is its HTTP status. */
  answered(code: number): void;
}

export function createTriggerMetrics(): {
  readonly record: TriggerMetrics;
  readonly families: readonly Family[];
} {
  const answers = createCounter(
    'tether_triggers_total',
    'Requests for a reconcile over HTTP, by HTTP status.',
    ['code'],
  );
  return { families: [answers], record: { answered: (code) => answers.add(1, String(code)) } };
}
