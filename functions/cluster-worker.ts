import type { ClusterDecision } from '../core/cluster.ts';
import { assertNever } from '../core/errors.ts';
import type { LogFields, Logger } from '../core/logger.ts';
import { formatKey } from '../core/object-key.ts';
import type { ConsumedJob, Disposition } from '../platform/redis/queue/run-job.ts';
import type { QueueMetrics } from '../platform/telemetry/metrics/queue-metrics.ts';
import { reconcileCluster, type ClusterDeps, type ClusterOutcome } from './reconcile-cluster.ts';
import { letServicesGoFirst } from './services-first.ts';

/** What `tether reconcile cluster --wait` prints. */
export interface ClusterResult {
  /** The Secret, `namespace/name`. */
  readonly secret: string;
  /** null: nothing is known of the Secret; `reason` says why. */
  readonly decision: ClusterDecision | null;
  readonly reason: string;
}

export interface ClusterWorkerDeps {
  readonly reconcile: ClusterDeps;
  readonly log: Logger;
  readonly metrics: Pick<QueueMetrics, 'started' | 'finished' | 'retried'>;
  /** How many runs of Service keys are under way in this process. */
  readonly serviceRuns: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * One job of the cluster queue: runs the function and turns its outcome into what the queue does. A
 * cluster that is to be tried again keeps its key's event in the queue, backing off, and no other job:
 * who asks on demand is told the decision, good or bad, and a resync ends.
 */
export function createClusterHandler(
  deps: ClusterWorkerDeps,
): (job: ConsumedJob, signal: AbortSignal) => Promise<Disposition> {
  const { metrics, serviceRuns: load, now } = deps;
  const first = { ...deps.reconcile, load };
  return async (job, signal) => {
    // A probe that lets Service keys go first is not under way yet: its key waits.
    if (job.class !== 'on-demand') await letServicesGoFirst(job.key, first, signal);
    metrics.started(job.id, now() - job.enqueuedAt);
    try {
      return await runJob(deps, job, signal);
    } finally {
      metrics.finished(job.id);
    }
  };
}

async function runJob(
  { reconcile, log, metrics }: ClusterWorkerDeps,
  job: ConsumedJob,
  signal: AbortSignal,
): Promise<Disposition> {
  const startedAt = reconcile.monotonicMs();
  const probeNow = job.class === 'on-demand';
  const outcome = await reconcileCluster(job.key, reconcile, signal, { probeNow });
  const ms = Math.round(reconcile.monotonicMs() - startedAt);
  record(log, { secret: formatKey(job.key), why: job.reason, ms }, outcome);
  if (isFailure(outcome)) metrics.retried();
  if (outcome.kind !== 'decided' || outcome.againMs === null) return toDisposition(job, outcome);
  if (job.class === 'event') {
    const { againMs: delayMs, decision } = outcome;
    const { reason, attempts: failures } = decision;
    return { kind: 'later', delayMs, reason, ...(isFailure(outcome) ? { failures } : {}) };
  }
  await reconcile.enqueue([job.key], 'to be tried again');
  return toDisposition(job, outcome);
}

/** Something went wrong, and is tried again. */
function isFailure(outcome: ClusterOutcome): boolean {
  if (outcome.kind === 'retry') return outcome.failure;
  return outcome.kind === 'decided' && outcome.decision.verdict === 'Unreachable';
}

function toDisposition(job: ConsumedJob, outcome: ClusterOutcome): Disposition {
  const secret = formatKey(job.key);
  switch (outcome.kind) {
    case 'decided': {
      const { decision } = outcome;
      const result: ClusterResult = { secret, decision, reason: decision.reason };
      return { kind: 'complete', result };
    }
    case 'forgotten': {
      const result: ClusterResult = { secret, decision: null, reason: outcome.reason };
      return { kind: 'complete', result };
    }
    case 'retry':
      return {
        kind: 'later',
        delayMs: outcome.afterMs,
        reason: outcome.reason,
        ...(outcome.failure ? { failures: 1 } : {}),
      };
    default:
      return assertNever(outcome);
  }
}

/** What has changed is told elsewhere, once; this is for debuggers, but for runs that came to nothing. */
function record(log: Logger, fields: LogFields, outcome: ClusterOutcome): void {
  if (outcome.kind === 'retry') {
    const { failure, reason, afterMs } = outcome;
    log[failure ? 'warn' : 'debug']({ ...fields, retryInMs: Math.round(afterMs) }, reason);
  } else if (outcome.kind === 'forgotten') {
    log.debug(fields, outcome.reason);
  } else {
    const { verdict, attempts, cluster } = outcome.decision;
    const { againMs } = outcome;
    log.debug({ ...fields, cluster, verdict, attempts, againMs }, 'cluster Secret looked at');
  }
}
