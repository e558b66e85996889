import { ownsName, type ClusterDecision } from '../core/cluster.ts';
import { isDnsSubdomain } from '../core/object-key.ts';

/** What decides which of several Secrets a cluster's name belongs to. */
export type Claim = Pick<ClusterDecision, 'secret' | 'cluster' | 'createdAt'>;

/** The Secret that owns the name which `claim` wants, undefined when `claim` does itself. */
export function ownerBefore<T extends Claim>(claim: Claim, all: readonly T[]): T | undefined {
  // A name that cannot be a cluster's is nobody's.
  if (!isDnsSubdomain(claim.cluster)) return undefined;
  return all
    .filter(({ secret, cluster }) => cluster === claim.cluster && secret !== claim.secret)
    .filter((other) => ownsName(other, claim))
    .reduce<T | undefined>((first, other) => {
      return first === undefined || ownsName(other, first) ? other : first;
    }, undefined);
}

/**
 * Secrets whose decision no longer fits the others: one that lost although the winner is gone, one
 * that was accepted although an older one has come. Their keys are to be looked at again.
 */
export function misjudged(decisions: readonly ClusterDecision[]): string[] {
  return decisions
    .filter((one) => (one.verdict === 'Conflict') !== (ownerBefore(one, decisions) !== undefined))
    .map(({ secret }) => secret);
}
