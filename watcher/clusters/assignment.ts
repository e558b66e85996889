import { shortHash } from '../../core/hash.ts';

/**
 * Which of the living watcher processes watch a cluster: rendezvous hashing. Everybody who knows the
 * same members comes to the same answer without a word, and one that comes or goes moves only the
 * clusters that are, or were, its own.
 *
 * @param count how many watch each cluster; fewer where there are fewer members.
 */
export function ownersOf(cluster: string, members: readonly string[], count: number): string[] {
  return members
    .map((member) => ({ member, weight: shortHash(`${cluster}\n${member}`, 16) }))
    .toSorted((a, b) => compare(b.weight, a.weight) || compare(a.member, b.member))
    .slice(0, count)
    .map(({ member }) => member);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
