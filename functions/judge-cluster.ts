import type { ApiSecret } from '../core/api-objects.ts';
import { backoffMs } from '../core/backoff.ts';
import type { AcceptedContent, ClusterDecision } from '../core/cluster.ts';
import { InvalidInputError } from '../core/errors.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { CredentialEndedError } from '../platform/kube/cluster-credentials.ts';
import {
  clusterNameOf,
  contentHash,
  readClusterSecret,
  type ClusterContent,
  type ClusterPolicy,
} from '../platform/kube/cluster-secret.ts';
import type { ClusterRegistry } from '../platform/redis/clusters/registry.ts';
import { ownerBefore } from './cluster-claims.ts';
import { SupersededError, untilNews, type NewsDeps } from './cluster-news.ts';
import { probeCluster, type ProbeResult } from './probe-cluster.ts';

export interface JudgeDeps extends NewsDeps {
  readonly policy: ClusterPolicy;
  /** A client of the cluster, closed after its probe. */
  readonly connect: (content: ClusterContent) => KubeClient;
  readonly registry: Pick<ClusterRegistry, 'nextGeneration' | 'now'>;
  readonly random: () => number;
  readonly onProbe: (result: ProbeResult['ok'] | 'cut') => void;
}

/** What a decision depends on beside the Secret. */
export interface Surroundings {
  readonly previous: ClusterDecision | null;
  /** Of all Secrets, this one's as well. */
  readonly decisions: readonly ClusterDecision[];
  /** By Redis' clock, ms. */
  readonly now: number;
  /** Asks the cluster although its next try is not due: somebody waits for the answer. */
  readonly probeNow: boolean;
}

/** Probes that fail in a row are 1 s to a minute apart. */
const PROBE_BACKOFF = { baseMs: 1_000, capMs: 60_000 } as const;
/** A job may be a little early by Redis' clock. */
const EARLY_MS = 50;

type Facts = Pick<ClusterDecision, 'secret' | 'secretUid' | 'createdAt' | 'cluster' | 'hash'>;
type Verdict = Pick<ClusterDecision, 'verdict' | 'reason' | 'accepted' | 'attempts' | 'nextTryAt'>;

/**
 * Decides about one cluster Secret: whose the name is, whether the policy lets it pass, whether its
 * cluster answers and grants what is needed. Content that was accepted before is not asked again.
 *
 * @throws SupersededError when the Secret changes during the probe, the signal's reason, ioredis'
 * errors.
 */
export async function judgeCluster(
  key: ObjectKey,
  secret: ApiSecret,
  deps: JudgeDeps,
  around: Surroundings,
  signal: AbortSignal,
): Promise<ClusterDecision> {
  const { previous } = around;
  const facts: Facts = {
    secret: formatKey(key),
    secretUid: secret.metadata?.uid ?? '',
    createdAt: secret.metadata?.creationTimestamp ?? '',
    cluster: clusterNameOf(secret) ?? '',
    hash: contentHash(secret),
  };
  const { verdict, reason, accepted, attempts, nextTryAt } = await verdictOn(key, secret, facts, {
    deps,
    around,
    signal,
  });
  const now = await deps.registry.now();
  const same = previous?.verdict === verdict && previous.reason === reason;
  return {
    ...facts,
    verdict,
    reason,
    since: same && previous.cluster === facts.cluster ? previous.since : now,
    attempts,
    nextTryAt,
    loadedAt: previous?.hash === facts.hash ? previous.loadedAt : now,
    accepted,
  };
}

interface Context {
  readonly deps: JudgeDeps;
  readonly around: Surroundings;
  readonly signal: AbortSignal;
}

async function verdictOn(
  key: ObjectKey,
  secret: ApiSecret,
  facts: Facts,
  context: Context,
): Promise<Verdict> {
  const { deps, around } = context;
  const owner = ownerBefore(facts, around.decisions);
  if (owner !== undefined) {
    const claim = `the cluster ${facts.cluster} is described by the older Secret ${owner.secret}`;
    return settled('Conflict', `${claim} as well: delete one of the two`, null);
  }
  const kept = keptContent(around.previous, facts);
  let content: ClusterContent;
  try {
    content = await readClusterSecret(secret, deps.policy);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return settled('Invalid', error.message, stillUsed(kept, facts, error));
  }
  if (kept?.hash === facts.hash) return settled('Accepted', '', kept);
  const tried = triesOf(around.previous, facts);
  if (tried !== null && isPutOff(tried, around)) return { ...tried, accepted: kept };
  const result = await probe(key, content, context);
  if (result.ok) return settled('Accepted', '', await accept(content, deps));
  const attempts = (tried?.attempts ?? 0) + 1;
  const nextTryAt = (await deps.registry.now()) + backoffMs(attempts, PROBE_BACKOFF, deps.random);
  return { verdict: 'Unreachable', reason: result.reason, accepted: kept, attempts, nextTryAt };
}

/** A verdict that stands until there are news. */
function settled(
  verdict: Verdict['verdict'],
  reason: string,
  accepted: AcceptedContent | null,
): Verdict {
  return { verdict, reason, accepted, attempts: 0, nextTryAt: null };
}

/** What was accepted of this very Secret for this cluster, and goes on until something better comes. */
function keptContent(previous: ClusterDecision | null, facts: Facts): AcceptedContent | null {
  if (previous === null || previous.cluster !== facts.cluster) return null;
  const { accepted } = previous;
  // A Secret that was deleted and made anew is another one, unless it says the same.
  const sameObject = previous.secretUid === facts.secretUid;
  return sameObject || accepted?.hash === facts.hash ? accepted : null;
}

/** A content that the operator no longer allows is given up; one whose credential has ended is not. */
function stillUsed(
  kept: AcceptedContent | null,
  facts: Facts,
  error: InvalidInputError,
): AcceptedContent | null {
  if (kept?.hash !== facts.hash) return kept;
  return error instanceof CredentialEndedError ? kept : null;
}

/** The decision before, where it is about failed probes of this very content. */
function triesOf(previous: ClusterDecision | null, facts: Facts): ClusterDecision | null {
  if (previous?.verdict !== 'Unreachable' || previous.cluster !== facts.cluster) return null;
  return previous.hash === facts.hash ? previous : null;
}

function isPutOff({ nextTryAt }: ClusterDecision, { probeNow, now }: Surroundings): boolean {
  return !probeNow && nextTryAt !== null && nextTryAt > now + EARLY_MS;
}

async function accept(content: ClusterContent, deps: JudgeDeps): Promise<AcceptedContent> {
  const { hash, server, trustDomain, clusterDomain, expiresAt } = content;
  const generation = await deps.registry.nextGeneration();
  return { generation, hash, server, trustDomain, clusterDomain, expiresAt };
}

/** Cut at once when the Secret changes: what it says now may well be right. */
async function probe(
  key: ObjectKey,
  content: ClusterContent,
  { deps, signal }: Context,
): Promise<ProbeResult> {
  const ending = new AbortController();
  const follow = (): void => ending.abort(signal.reason);
  signal.addEventListener('abort', follow, { once: true });
  const client = deps.connect(content);
  const looking = untilNews(key, content.hash, deps, ending.signal).then((news) => {
    if (news) ending.abort(new SupersededError());
  });
  try {
    signal.throwIfAborted();
    const result = await probeCluster(client, ending.signal);
    deps.onProbe(result.ok);
    return result;
  } catch (error) {
    if (error instanceof SupersededError) deps.onProbe('cut');
    throw error;
  } finally {
    ending.abort();
    signal.removeEventListener('abort', follow);
    await Promise.all([looking, client.close()]);
  }
}
