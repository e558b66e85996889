import type { ApiSecret } from '../core/api-objects.ts';
import { backoffMs } from '../core/backoff.ts';
import type { ClusterDecision } from '../core/cluster.ts';
import {
  ApiError,
  describeError,
  LockLostError,
  RunEndedError,
  TetherError,
  UnreachableError,
} from '../core/errors.ts';
import { formatKey, parseKey, type ObjectKey } from '../core/object-key.ts';
import { isClusterSecret } from '../platform/kube/cluster-secret.ts';
import type { ClusterLock } from '../platform/redis/clusters/lock.ts';
import type { ClusterRegistry } from '../platform/redis/clusters/registry.ts';
import { misjudged } from './cluster-claims.ts';
import { SupersededError } from './cluster-news.ts';
import { judgeCluster, type JudgeDeps } from './judge-cluster.ts';
import { acquireLease, LOCKED_RETRY_MS, type Lease } from './lease.ts';

/** What a run of `reconcileCluster` came to. */
export type ClusterOutcome =
  /** The registry holds the decision. It is due again after `againMs`; null: when there are news. */
  | {
      readonly kind: 'decided';
      readonly decision: ClusterDecision;
      readonly againMs: number | null;
    }
  /** There is no such Secret, or it describes no cluster (any more): nothing is known of it. */
  | { readonly kind: 'forgotten'; readonly reason: string }
  /** No decision was made. */
  | {
      readonly kind: 'retry';
      readonly afterMs: number;
      /** False for what is nobody's fault: the lock is held elsewhere, news cut the run. */
      readonly failure: boolean;
      readonly reason: string;
    };

/** Everything outside that a run touches. Any runtime may make these; BullMQ is not among them. */
export interface ClusterDeps extends Omit<JudgeDeps, 'isAwaited'> {
  readonly registry: ClusterRegistry;
  readonly lock: ClusterLock;
  /** Where cluster Secrets live. */
  readonly namespace: string;
  /** Has other Secrets looked at again. */
  readonly enqueue: (keys: readonly ObjectKey[], reason: string) => Promise<void>;
  /** Told once a decision stands, changed or not, and once one is gone. */
  readonly report: {
    readonly decided: (decision: ClusterDecision) => Promise<void>;
    readonly forgotten: (decision: ClusterDecision, reason: string) => Promise<void>;
  };
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** A token that nobody else has. */
  readonly token: () => string;
}

export interface ReconcileClusterOptions {
  /** Asks the cluster even if its next try is not due. */
  readonly probeNow?: boolean;
}

/** While Redis or the served cluster's API server is away: half a second to a second. */
const AWAY = { failures: 1, bounds: { baseMs: 1_000, capMs: 1_000 } } as const;
/** A missing right. */
const CONFIGURATION_RETRY_MS = 30_000;

/**
 * Decides about one cluster Secret and writes the decision to the registry, for watchers to act on.
 * Two runs of one Secret never decide at once. Stateless: any process may call it at any time.
 *
 * Never throws for what the outside does; the outcome says whether and when to come again.
 */
export async function reconcileCluster(
  key: ObjectKey,
  deps: ClusterDeps,
  signal: AbortSignal,
  options: ReconcileClusterOptions = {},
): Promise<ClusterOutcome> {
  const { lock: view, monotonicMs } = deps;
  try {
    const request = { key, token: deps.token(), read: false, view, signal, monotonicMs };
    const answer = await acquireLease(request);
    if (!answer.held) return later(LOCKED_RETRY_MS, 'locked elsewhere');
    const { lease } = answer;
    try {
      return await run(key, deps, lease, options.probeNow === true);
    } finally {
      // Redis is gone when this fails: the lock runs out by itself.
      await lease.finish('neutral', [], []).catch(() => undefined);
    }
  } catch (error) {
    return outcomeOf(key, error, deps.random);
  }
}

async function run(
  key: ObjectKey,
  deps: ClusterDeps,
  lease: Lease,
  probeNow: boolean,
): Promise<ClusterOutcome> {
  const { registry, lock, namespace } = deps;
  const secretName = formatKey(key);
  const readable = key.namespace === namespace;
  const [secret, decisions, now] = await Promise.all([
    readable ? deps.readSecret(key, lease.signal) : null,
    registry.decisions(),
    registry.now(),
  ]);
  const previous = decisions.find((one) => one.secret === secretName) ?? null;
  if (secret === null || !isClusterSecret(secret)) {
    await lease.confirm();
    await forget(deps, previous, whyNone(key, secret, namespace));
    return { kind: 'forgotten', reason: whyNothingIsKnown(key, namespace) };
  }
  const judge = { ...deps, isAwaited: (awaited: ObjectKey) => lock.isAwaited(awaited) };
  const around = { previous, decisions, now, probeNow };
  const decision = await judgeCluster(key, secret, judge, around, lease.signal);
  await lease.confirm();
  if (JSON.stringify(decision) !== JSON.stringify(previous)) await registry.decide(decision);
  await deps.report.decided(decision);
  await settleOthers(deps);
  const { nextTryAt } = decision;
  const againMs = nextTryAt === null ? null : Math.max(0, nextTryAt - (await registry.now()));
  return { kind: 'decided', decision, againMs };
}

/** For the log of a cluster that is gone. */
function whyNone(key: ObjectKey, secret: ApiSecret | null, namespace: string): string {
  if (key.namespace !== namespace) return livesElsewhere(key, namespace);
  const name = `Secret ${formatKey(key)}`;
  if (secret === null) return `${name} does not exist`;
  return `${name} is no cluster Secret: it wants the type and the label of one`;
}

/** For whoever asked: which Secrets there are that describe no cluster is none of their business. */
function whyNothingIsKnown(key: ObjectKey, namespace: string): string {
  if (key.namespace !== namespace) return livesElsewhere(key, namespace);
  const name = formatKey(key);
  return `there is no cluster Secret ${name}: none of that name, or one without the type or the label`;
}

function livesElsewhere(key: ObjectKey, namespace: string): string {
  return `Secret ${formatKey(key)}: cluster Secrets live in the namespace ${namespace} (--namespace)`;
}

async function forget(
  deps: ClusterDeps,
  previous: ClusterDecision | null,
  reason: string,
): Promise<void> {
  if (previous !== null) {
    await deps.registry.forget(previous.secret);
    await deps.report.forgotten(previous, reason);
  }
  await settleOthers(deps);
}

/**
 * Read again after the write, so that of two runs that decide about one name at a time the later one
 * sees both decisions; and by comparing all of them, so that nothing is lost with a run that died.
 */
async function settleOthers({ registry, enqueue }: ClusterDeps): Promise<void> {
  const wrong = misjudged(await registry.decisions());
  if (wrong.length > 0) await enqueue(wrong.map(parseKey), 'another Secret of its cluster changed');
}

function outcomeOf(key: ObjectKey, error: unknown, random: () => number): ClusterOutcome {
  const reason = describeError(error);
  if (error instanceof RunEndedError || error instanceof SupersededError) return later(0, reason);
  if (error instanceof LockLostError) return later(LOCKED_RETRY_MS, reason);
  if (error instanceof ApiError && error.status === 403) {
    const advice = `${reason}; grant the worker's role get on secrets of this namespace`;
    return { kind: 'retry', afterMs: CONFIGURATION_RETRY_MS, failure: true, reason: advice };
  }
  const known = error instanceof TetherError ? error : new UnreachableError(formatKey(key), error);
  const afterMs = backoffMs(AWAY.failures, AWAY.bounds, random);
  return { kind: 'retry', afterMs, failure: true, reason: known.message };
}

function later(afterMs: number, reason: string): ClusterOutcome {
  return { kind: 'retry', afterMs, failure: false, reason };
}
