import { assertNever, describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { formatKey } from '../core/object-key.ts';
import type { Outcome } from '../core/outcome.ts';
import { sleep } from '../platform/process/sleep.ts';
import type { ConsumedJob, Disposition } from '../platform/redis/queue/run-job.ts';
import { STUCK_AFTER, type StuckKeys } from '../platform/redis/stuck.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { OUTAGE_RETRY_MS } from './api-gate.ts';
import { reconcileService, type ReconcileDeps } from './reconcile-service.ts';

/**
 * A run that changes so many endpoints of a Service so large has met a burst. Its job stays active for
 * a while, so that what comes meanwhile becomes one run: a thousand workloads that become ready one by
 * one are then a few writes of each slice, not hundreds. Single changes are never held up, nor are small
 * Services: their slice is one write whatever changed.
 */
const BURST = { endpoints: 200, changed: 5, pauseMs: 250 } as const;

export interface WorkerDeps {
  readonly reconcile: ReconcileDeps;
  readonly stuck: Pick<StuckKeys, 'add' | 'remove'>;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * One job of the service queue: runs the function and turns its outcome into what the queue does.
 * No other place reads an outcome for that. On-demand jobs read live: somebody waits for the truth.
 */
export function createServiceHandler(
  deps: WorkerDeps,
): (job: ConsumedJob, signal: AbortSignal) => Promise<Disposition> {
  const { metrics, reconcile } = deps;
  const { now, monotonicMs } = reconcile.clock;
  return async (job, signal) => {
    // The queue may still hand out a job that it had in hand when it was told to wait.
    const outage = reconcile.outages?.outage;
    if (outage) return { kind: 'later', delayMs: OUTAGE_RETRY_MS, reason: outage.reason };
    metrics.queue.started(job.id, now().getTime() - job.enqueuedAt);
    const startedAt = monotonicMs();
    try {
      const outcome = await reconcileService(job.key, reconcile, signal, {
        read: job.class === 'on-demand' ? 'live' : 'view',
        ...(job.at === undefined ? {} : { at: job.at }),
      });
      await settleStuck(deps, formatKey(job.key), outcome);
      record(deps, job, outcome, monotonicMs() - startedAt);
      if (isBurst(outcome)) await sleep(BURST.pauseMs, signal);
      return toDisposition(outcome);
    } finally {
      metrics.queue.finished(job.id);
    }
  };
}

function isBurst(outcome: Outcome): boolean {
  if (outcome.kind !== 'done') return false;
  const { endpoints, changed } = outcome.result;
  return endpoints >= BURST.endpoints && changed >= BURST.changed;
}

function toDisposition(outcome: Outcome): Disposition {
  switch (outcome.kind) {
    case 'done':
      return { kind: 'complete', result: outcome.result };
    case 'retry': {
      const { afterMs = 0, reason, failure, failures = 1 } = outcome;
      return { kind: 'later', delayMs: afterMs, reason, ...(failure ? { failures } : {}) };
    }
    case 'terminal':
      return { kind: 'reject', error: outcome.error };
    default:
      return assertNever(outcome);
  }
}

/** The list of stuck keys is for people; a Redis that is away must not fail a run that was done. */
async function settleStuck({ stuck, log }: WorkerDeps, key: string, outcome: Outcome) {
  try {
    // Each time, and not the first time alone: that one may not have come to Redis.
    if (outcome.kind === 'retry' && (outcome.failures ?? 0) >= STUCK_AFTER) await stuck.add(key);
    if (outcome.kind === 'done' && outcome.failuresBefore >= STUCK_AFTER) await stuck.remove(key);
  } catch (error) {
    log.debug({ key, error: describeError(error) }, 'could not update the list of stuck keys');
  }
}

/** One line an outcome; what changed nothing is of interest to debuggers only. */
function record(deps: WorkerDeps, job: ConsumedJob, outcome: Outcome, tookMs: number): void {
  const { log, metrics } = deps;
  const key = formatKey(job.key);
  const fields = { key, why: job.reason, ms: Math.round(tookMs) };
  metrics.reconcile.finished(
    key,
    outcome.kind,
    outcome.kind === 'done' ? outcome.result : undefined,
  );
  switch (outcome.kind) {
    case 'done': {
      const { created, updated, deleted, endpoints, ready } = outcome.result;
      const wrote = created + updated + deleted > 0;
      if (wrote && job.at !== undefined) {
        metrics.reconcile.eventToWrite(deps.reconcile.clock.now().getTime() - job.at);
      }
      const counts = { ...fields, created, updated, deleted, endpoints, ready };
      log[wrote ? 'info' : 'debug'](counts, wrote ? 'slices written' : 'slices are right');
      return;
    }
    case 'retry': {
      if (outcome.failure) metrics.queue.retried();
      const { afterMs, reason, failures } = outcome;
      log[outcome.failure ? 'warn' : 'debug']({ ...fields, failures, retryInMs: afterMs }, reason);
      return;
    }
    case 'terminal':
      log.error(fields, outcome.reason);
  }
}
