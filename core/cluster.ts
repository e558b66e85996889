/*
 * What is known of a linked cluster, in two halves with one writer each, so that neither overwrites
 * the other: `reconcile-cluster` decides about a Secret, the watcher that owns the cluster tells how
 * its watches are. Neither half ever holds a credential. docs/clusters.md explains the states.
 */

/** What one cluster is called to people, metrics and the look-up API. */
export type ClusterState = 'Invalid' | 'Unreachable' | 'Syncing' | 'Ready' | 'Stale' | 'Conflict';

export const CLUSTER_STATES: readonly ClusterState[] = [
  'Invalid',
  'Unreachable',
  'Syncing',
  'Ready',
  'Stale',
  'Conflict',
];

/** What `reconcile-cluster` made of one cluster Secret. Times are ms since 1970. */
export interface ClusterDecision {
  /** The Secret: `namespace/name`. */
  readonly secret: string;
  readonly secretUid: string;
  /** The Secret's creationTimestamp: of two Secrets for one cluster the older wins, then the name. */
  readonly createdAt: string;
  /** Name of the cluster, from the Secret's label. */
  readonly cluster: string;
  readonly verdict: 'Accepted' | 'Invalid' | 'Unreachable' | 'Conflict';
  /** One sentence for a person: what is wrong and what to do; '' when accepted. */
  readonly reason: string;
  /** When verdict or reason changed last. */
  readonly since: number;
  /** Failed probes in a row. */
  readonly attempts: number;
  readonly nextTryAt: number | null;
  /** SHA-256 of the content that this decision is about: kubeconfig, trust and cluster domain. */
  readonly hash: string;
  /** When that content was first seen. */
  readonly loadedAt: number;
  /** What watchers are to watch; null while nothing was ever accepted. Kept when a later content is refused. */
  readonly accepted: AcceptedContent | null;
}

/** A content that passed policy and probe. */
export interface AcceptedContent {
  /** Grows with every accepted content; never used twice in one install. */
  readonly generation: number;
  readonly hash: string;
  /** `host:port`. */
  readonly server: string;
  readonly trustDomain: string;
  readonly clusterDomain: string;
  /** When the client certificate or the token ends; null when neither says so. */
  readonly expiresAt: number | null;
}

/** How the watches of one cluster are, told by the watcher that owns it, every second. */
export interface ClusterWatch {
  readonly cluster: string;
  /** Id of the watcher process. */
  readonly owner: string;
  /** By Redis' clock, ms, when this was written. */
  readonly at: number;
  /** The generation that answers come from; 0 while none has synced. */
  readonly serving: number;
  /** The generation that is being watched, or being brought in sync beside the serving one. */
  readonly working: number;
  /** Whether every watch of the serving generation stands. */
  readonly healthy: boolean;
  /** Why the serving generation is not healthy, or the working one does not sync; '' when all is well. */
  readonly reason: string;
  /** Failed tries in a row of the watch that is worst off. */
  readonly attempts: number;
  readonly nextTryAt: number | null;
  /** When the serving generation was last known to be in sync, ms by Redis' clock; null: never. */
  readonly syncedAt: number | null;
  /** Objects in the view of the serving generation. */
  readonly objects: number;
}

/** Both halves as one, as `status` and the look-up API show it. */
export interface ClusterDescription {
  readonly cluster: string;
  readonly secret: string;
  readonly state: ClusterState;
  /** '' when there is nothing to say. */
  readonly reason: string;
  /** Whether look-ups are answered: from the last known state, if need be. */
  readonly answers: boolean;
  readonly serving: number;
  readonly server: string;
  readonly trustDomain: string;
  readonly clusterDomain: string;
  readonly expiresAt: number | null;
  readonly loadedAt: number;
  readonly since: number;
  readonly syncedAt: number | null;
  readonly attempts: number;
  readonly nextTryAt: number | null;
  readonly objects: number;
}

/** A watcher that did not tell for so long is taken for dead, ms: what it knew is stale. */
const WATCH_SILENCE_MS = 5_000;

/**
 * The state of a cluster, from both halves. While something is served, the state tells how good the
 * answers are, and `reason` why the Secret's newest content is not what is served.
 *
 * @param now by Redis' clock, ms.
 */
export function describeCluster(
  decision: ClusterDecision,
  watch: ClusterWatch | null,
  now: number,
): ClusterDescription {
  const { cluster, secret, loadedAt, since, accepted } = decision;
  // Who lost the name is answered from who has it, and from what that one left while it is taken over.
  const ours = accepted !== null || decision.verdict === 'Conflict';
  const serving = ours ? (watch?.serving ?? 0) : 0;
  const told =
    watch !== null && serving > 0
      ? whileServing(decision, watch, now)
      : beforeServing(decision, watch);
  return {
    cluster,
    secret,
    ...told,
    answers: serving > 0,
    serving,
    ...contentShown(accepted),
    loadedAt,
    since,
    syncedAt: null,
    ...triesShown(decision, watch),
    objects: 0,
    ...(watch !== null && serving > 0 ? { syncedAt: watch.syncedAt, objects: watch.objects } : {}),
  };
}

function contentShown(
  accepted: AcceptedContent | null,
): Pick<ClusterDescription, 'server' | 'trustDomain' | 'clusterDomain' | 'expiresAt'> {
  if (accepted === null) return { server: '', trustDomain: '', clusterDomain: '', expiresAt: null };
  const { server, trustDomain, clusterDomain, expiresAt } = accepted;
  return { server, trustDomain, clusterDomain, expiresAt };
}

/** Of the probe and the watches, whichever is worse off. */
function triesShown(
  decision: ClusterDecision,
  watch: ClusterWatch | null,
): Pick<ClusterDescription, 'attempts' | 'nextTryAt'> {
  return {
    attempts: Math.max(decision.attempts, watch?.attempts ?? 0),
    nextTryAt: decision.nextTryAt ?? watch?.nextTryAt ?? null,
  };
}

type StateAndReason = Pick<ClusterDescription, 'state' | 'reason'>;

/** Answers are given: a content that is refused meanwhile takes nothing from them. */
function whileServing(decision: ClusterDecision, watch: ClusterWatch, now: number): StateAndReason {
  if (decision.verdict === 'Conflict') return { state: 'Conflict', reason: decision.reason };
  if (now - watch.at > WATCH_SILENCE_MS) {
    // The same text as long as it is true: subscribers are told of each change of it.
    const since = new Date(watch.at).toISOString();
    return { state: 'Stale', reason: `no watcher has told of this cluster since ${since}` };
  }
  if (!watch.healthy) return { state: 'Stale', reason: watch.reason };
  if (decision.verdict !== 'Accepted') {
    const reason = `the Secret's present content is not used: ${decision.reason}`;
    return { state: 'Ready', reason };
  }
  return { state: 'Ready', reason: watch.reason };
}

function beforeServing(decision: ClusterDecision, watch: ClusterWatch | null): StateAndReason {
  if (decision.verdict !== 'Accepted') return { state: decision.verdict, reason: decision.reason };
  const reason = watch?.reason ?? '';
  return reason === '' ? { state: 'Syncing', reason } : { state: 'Unreachable', reason };
}

/** Whether `a` is to own a cluster's name rather than `b`: the older Secret, then the name. */
export function ownsName(
  a: Pick<ClusterDecision, 'createdAt' | 'secret'>,
  b: Pick<ClusterDecision, 'createdAt' | 'secret'>,
): boolean {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.secret < b.secret;
}

/**
 * Sorts Secrets of one cluster, the one that has its name first: it was not refused it, or would be the
 * one to get it. Beside `ownsName` it heeds what was decided: an older Secret that was refused the name
 * does not have it until it is looked at again.
 */
export function byClaim(
  a: Pick<ClusterDecision, 'createdAt' | 'secret' | 'verdict'>,
  b: Pick<ClusterDecision, 'createdAt' | 'secret' | 'verdict'>,
): number {
  const [refusedA, refusedB] = [a.verdict === 'Conflict', b.verdict === 'Conflict'];
  if (refusedA !== refusedB) return refusedA ? 1 : -1;
  return ownsName(a, b) ? -1 : 1;
}
