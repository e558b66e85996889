import { randomUUID } from 'node:crypto';
import { assertNever, OverdueError } from '../core/errors.ts';
import type { QueueName } from '../core/job.ts';
import { formatKey } from '../core/object-key.ts';
import type { ReconcileRequest } from '../core/reconcile-request.ts';
import { jsonAnswer, refusal, retryAfter, type HttpAnswer } from '../platform/http/exchange.ts';
import { sleep } from '../platform/process/sleep.ts';
import type { Disposition, Handle } from '../platform/redis/queue/disposition.ts';
import { createFlights } from './flights.ts';

export interface RunnerOptions {
  /** The handlers that workers have, by the kind of key. */
  readonly handles: Readonly<Record<QueueName, Handle>>;
  /** How long one request may take, ms. */
  readonly deadlineMs: number;
  /** Keys that may be run at a time. */
  readonly mostRuns: number;
  /** Aborted, with a ShutdownError, when runs are to end before their next write. */
  readonly stopping: AbortSignal;
  readonly clock: { readonly now: () => number; readonly monotonicMs: () => number };
  readonly random: () => number;
}

/** Runs keys for whoever asks, and answers what came of it. */
export interface Runner {
  run(asked: ReconcileRequest): Promise<HttpAnswer>;
  /** Resolves once no run is under way. */
  idle(): Promise<void>;
}

/**
 * A run that is put off is tried again for so long, ms: the lock of a process that died is free after
 * two seconds (docs/lock.md), and few conflicts outlive one retry.
 */
const PATIENCE_MS = 2_500;

/**
 * Runs keys without a queue: one call is one key, under the same lock as a worker's. What the queue does
 * for workers is done here as far as one call goes: calls of one key that come at once share a run, and
 * a run that is put off is tried again for a moment. Whoever calls must come again after that.
 */
export function createRunner(options: RunnerOptions): Runner {
  const { mostRuns, deadlineMs } = options;
  const flights = createFlights<Disposition | null>();
  return {
    idle: () => flights.idle(),
    run: async (asked) => {
      const named = { kind: asked.kind, key: formatKey(asked.key) };
      if (flights.active >= mostRuns) {
        const error = `${mostRuns} keys are being reconciled here already`;
        return refusal(429, 'TooManyRequests', error, retryAfter(1_000));
      }
      const start = (): Promise<Disposition | null> => settle(options, asked);
      const running = flights.ask(`${named.kind} ${named.key}`, start);
      const disposition = await inTime(running, deadlineMs);
      return disposition === null ? late(named, deadlineMs) : answerOf(named, disposition);
    },
  };
}

/** Runs a key until it is done, or refused, or put off for longer than anybody would wait; null: too late. */
async function settle(
  { handles, deadlineMs, stopping, clock, random }: RunnerOptions,
  { kind, key }: ReconcileRequest,
): Promise<Disposition | null> {
  const deadline = new AbortController();
  // Not AbortSignal.timeout: its reason would count as a failure of the key.
  const timer = setTimeout(() => deadline.abort(new OverdueError(deadlineMs)), deadlineMs);
  const signal = AbortSignal.any([stopping, deadline.signal]);
  const until = clock.monotonicMs() + PATIENCE_MS;
  try {
    for (;;) {
      const job = { key, id: randomUUID(), class: 'on-demand', enqueuedAt: clock.now() } as const;
      const disposition = await handles[kind]({ ...job, reason: 'asked for over HTTP' }, signal);
      if (disposition.kind !== 'later') return disposition;
      // Jitter: of several processes that wait for one lock not all should come at once again.
      const delayMs = Math.max(10, disposition.delayMs * (0.25 + 0.75 * random()));
      const again = clock.monotonicMs() + delayMs <= until;
      if (again) await sleep(delayMs, signal);
      if (deadline.signal.aborted) return null;
      if (!again || signal.aborted) return disposition;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** null: the time was over first; the run goes on as long as it may. */
async function inTime(
  running: Promise<Disposition | null>,
  deadlineMs: number,
): Promise<Disposition | null> {
  const waiting = new AbortController();
  const over = sleep(deadlineMs, waiting.signal).then(() => null);
  try {
    return await Promise.race([running, over]);
  } finally {
    waiting.abort();
  }
}

interface Named {
  readonly kind: QueueName;
  /** `namespace/name`. */
  readonly key: string;
}

function answerOf(named: Named, disposition: Disposition): HttpAnswer {
  switch (disposition.kind) {
    case 'complete':
      return jsonAnswer(200, { ...named, outcome: 'done', result: disposition.result });
    case 'reject':
      return jsonAnswer(200, { ...named, outcome: 'terminal', reason: disposition.error.message });
    case 'later': {
      const { reason, delayMs } = disposition;
      return jsonAnswer(503, { ...named, outcome: 'retry', reason }, retryAfter(delayMs));
    }
    default:
      return assertNever(disposition);
  }
}

function late(named: Named, deadlineMs: number): HttpAnswer {
  const reason = `not done within ${deadlineMs / 1000} s; ask again`;
  return jsonAnswer(504, { ...named, outcome: 'retry', reason }, retryAfter(1_000));
}
