import { describe, expect, it } from '@jest/globals';
import { ownersOf } from '../../../watcher/clusters/assignment.ts';

const clusters = Array.from({ length: 300 }, (_, at) => `cluster-${at}`);
const members = ['a', 'b', 'c', 'd'];

describe('clusters are shared out', () => {
  it('so that everybody comes to the same answer, whatever the order', () => {
    for (const cluster of clusters) {
      expect(ownersOf(cluster, members.toReversed(), 2)).toEqual(ownersOf(cluster, members, 2));
    }
  });

  it('evenly', () => {
    const shares = members.map(
      (member) => clusters.filter((one) => ownersOf(one, members, 1)[0] === member).length,
    );
    for (const share of shares) {
      expect(share).toBeGreaterThan(40);
      expect(share).toBeLessThan(110);
    }
  });

  it('to two different members where two are wanted, to fewer where there are fewer', () => {
    for (const cluster of clusters) {
      expect(new Set(ownersOf(cluster, members, 2)).size).toBe(2);
      expect(ownersOf(cluster, ['a'], 2)).toEqual(['a']);
      expect(ownersOf(cluster, [], 1)).toEqual([]);
    }
  });

  it('anew only where a member went', () => {
    const left = members.filter((member) => member !== 'c');
    for (const cluster of clusters) {
      const [before] = ownersOf(cluster, members, 1);
      const [after] = ownersOf(cluster, left, 1);
      if (before !== 'c') expect(after).toBe(before);
    }
  });
});
