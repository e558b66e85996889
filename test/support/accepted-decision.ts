import type { AcceptedContent, ClusterDecision } from '../../core/cluster.ts';

/** A decision that accepts a cluster's content, by default that of a Secret of its name. */
export function acceptedDecision(
  cluster: string,
  content: Pick<AcceptedContent, 'generation' | 'hash'> & Partial<AcceptedContent>,
  over: Partial<ClusterDecision> = {},
): ClusterDecision {
  const now = Date.now();
  return {
    secret: `tether/${cluster}`,
    secretUid: `uid-${cluster}`,
    createdAt: '2026-01-01T00:00:00Z',
    cluster,
    verdict: 'Accepted',
    reason: '',
    since: now,
    attempts: 0,
    nextTryAt: null,
    hash: content.hash,
    loadedAt: now,
    accepted: {
      server: `${cluster}.example:6443`,
      trustDomain: 'cluster.local',
      clusterDomain: 'cluster.local',
      expiresAt: null,
      ...content,
    },
    ...over,
  };
}
