import type { ClusterDecision } from '../core/cluster.ts';
import { assertNever } from '../core/errors.ts';
import type { LogFields, Logger } from '../core/logger.ts';
import { formatKey } from '../core/object-key.ts';
import type { ConsumedJob, Disposition } from '../platform/redis/queue/run-job.ts';
import { giveWay } from './give-way.ts';
import { reconcileCluster, type ClusterDeps, type ClusterOutcome } from './reconcile-cluster.ts';

/** What `tether reconcile cluster --wait` prints. */
export interface ClusterResult {
  /** The Secret, `namespace/name`. */
  readonly secret: string;
  /** null: nothing is known of the Secret; `reason` says why. */
  readonly decision: ClusterDecision | null;
  readonly reason: string;
}

/**
 * One job of the cluster queue: runs the function and turns its outcome into what the queue does. A
 * cluster that is to be tried again keeps its key's event in the queue, backing off, and no other job:
 * who asks on demand is told the decision, good or bad, and a resync ends.
 *
 * @param serviceRuns how many runs of Service keys are under way in this process.
 */
export function createClusterHandler(
  deps: ClusterDeps,
  log: Logger,
  serviceRuns: () => number,
): (job: ConsumedJob, signal: AbortSignal) => Promise<Disposition> {
  return async (job, signal) => {
    const asked = job.class === 'on-demand';
    if (!asked) await giveWay({ runs: serviceRuns, monotonicMs: deps.monotonicMs }, signal);
    const startedAt = deps.monotonicMs();
    const outcome = await reconcileCluster(job.key, deps, signal, { probeNow: asked });
    const fields = {
      secret: formatKey(job.key),
      why: job.reason,
      ms: Math.round(deps.monotonicMs() - startedAt),
    };
    record(log, fields, outcome);
    if (outcome.kind !== 'decided' || outcome.againMs === null) return toDisposition(job, outcome);
    if (job.class === 'event') {
      const { againMs, decision } = outcome;
      return { kind: 'later', delayMs: againMs, reason: decision.reason };
    }
    await deps.enqueue([job.key], 'to be tried again');
    return toDisposition(job, outcome);
  };
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
      return { kind: 'later', delayMs: outcome.afterMs, reason: outcome.reason };
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
