import {
  byClaim,
  describeCluster,
  type ClusterDecision,
  type ClusterDescription,
  type ClusterWatch,
} from './cluster.ts';

/** What is known of all linked clusters at one moment. */
export interface ClusterSnapshot {
  /** By Secret. */
  readonly decisions: readonly ClusterDecision[];
  /** By cluster. */
  readonly watches: ReadonlyMap<string, ClusterWatch>;
  /** By Redis' clock, ms. */
  readonly now: number;
}

/** One description a Secret, by cluster; of a cluster that several Secrets describe, its owner's first. */
export function describeSecrets(snapshot: ClusterSnapshot): ClusterDescription[] {
  const { decisions, watches, now } = snapshot;
  return decisions
    .toSorted((a, b) => compare(a.cluster, b.cluster) || byClaim(a, b))
    .map((one) => describeCluster(one, watches.get(one.cluster) ?? null, now));
}

/** One description a cluster: that of the Secret that owns its name. */
export function describeClusters(snapshot: ClusterSnapshot): ClusterDescription[] {
  const all = describeSecrets(snapshot);
  return all.filter(({ cluster }, at) => at === 0 || all[at - 1]?.cluster !== cluster);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
