import {
  byClaim,
  describeCluster,
  type ClusterDecision,
  type ClusterDescription,
  type ClusterState,
  type ClusterWatch,
} from '../core/cluster.ts';
import { shortHash } from '../core/hash.ts';
import { LOCAL_CLUSTER } from '../core/names.ts';

/** What look-ups say of a cluster beside its endpoints. */
export interface ClusterStatus {
  readonly description: ClusterDescription;
  readonly state: ClusterState;
  /** '' when there is nothing to say. */
  readonly reason: string;
  /** Whether what is known may be outdated. */
  readonly stale: boolean;
  /** Whether there is a view to read, or will be: a content was accepted, or one is served. */
  readonly accepted: boolean;
  /** Secrets that claim the same name and were refused it. */
  readonly refused: readonly { readonly secret: string; readonly reason: string }[];
  /** Differs whenever state, reason or `stale` do. */
  readonly tag: string;
}

/** What Redis told of all clusters at one moment. */
export interface RegistryContent {
  readonly decisions: readonly ClusterDecision[];
  readonly watches: ReadonlyMap<string, ClusterWatch>;
  /** By Redis' clock, ms. */
  readonly now: number;
}

/** The status of each cluster by name; that of the served cluster (LOCAL_CLUSTER) among them. */
export function statusesOf(content: RegistryContent): Map<string, ClusterStatus> {
  const { decisions, watches, now } = content;
  const byName = Map.groupBy(decisions, ({ cluster }) => cluster);
  const statuses = new Map<string, ClusterStatus>();
  for (const [name, claims] of byName) {
    const [owner, ...others] = claims.toSorted(byClaim);
    if (owner === undefined) continue;
    const watch = watches.get(name) ?? null;
    const description = describeCluster(owner, watch, now);
    const refused = others.map(({ secret, reason }) => ({ secret, reason }));
    // Who waited for the name is served what the former owner left, before its content is accepted.
    const accepted = owner.accepted !== null || description.answers;
    statuses.set(name, statusOf(description, accepted, refused));
  }
  const local = watches.get(LOCAL_CLUSTER);
  if (local !== undefined) {
    const description = describeCluster(localDecision(local), local, now);
    statuses.set(LOCAL_CLUSTER, statusOf(description, true, []));
  }
  return statuses;
}

/** Why all is outdated while Redis is away. */
export const AWAY = 'Redis does not answer: this is the last known state';

/** While Redis does not answer, what was last known of a cluster. */
export function outdated(status: ClusterStatus, reason: string): ClusterStatus {
  const { description, accepted, refused } = status;
  if (!description.answers) return statusOf({ ...description, reason }, accepted, refused);
  return statusOf({ ...description, state: 'Stale', reason }, accepted, refused);
}

function statusOf(
  description: ClusterDescription,
  accepted: boolean,
  refused: ClusterStatus['refused'],
): ClusterStatus {
  const { state, reason } = description;
  const stale = state !== 'Ready';
  const tag = shortHash(`${state}\n${reason}`, 8);
  return { description, state, reason, stale, accepted, refused, tag };
}

/** No Secret links the served cluster to itself; that it is watched is all there is to decide. */
function localDecision({ serving, at }: ClusterWatch): ClusterDecision {
  return {
    secret: '',
    secretUid: '',
    createdAt: '',
    cluster: LOCAL_CLUSTER,
    verdict: 'Accepted',
    reason: '',
    since: at,
    attempts: 0,
    nextTryAt: null,
    hash: '',
    loadedAt: at,
    accepted: {
      generation: serving,
      hash: '',
      server: '',
      trustDomain: '',
      clusterDomain: '',
      expiresAt: null,
    },
  };
}
