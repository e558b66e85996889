import { expect, test } from '@jest/globals';
import type { ClusterDecision } from '../../../core/cluster.ts';
import { describeClusters, describeSecrets } from '../../../core/cluster-snapshot.ts';
import { misjudged, ownerBefore } from '../../../functions/cluster-claims.ts';
import { statusesOf } from '../../../lookup/clusters.ts';

const decision = (
  secret: string,
  verdict: ClusterDecision['verdict'],
  given: Partial<ClusterDecision> = {},
): ClusterDecision => ({
  secret: `tether/${secret}`,
  secretUid: secret,
  createdAt: '2026-01-01T00:00:00Z',
  cluster: 'east',
  hash: 'h',
  verdict,
  reason: '',
  since: 0,
  attempts: 0,
  nextTryAt: null,
  loadedAt: 0,
  accepted: null,
  ...given,
});

const old = decision('z', 'Accepted', { createdAt: '2025-01-01T00:00:00Z' });
const first = decision('a', 'Conflict');
const second = decision('b', 'Conflict');

test('the older Secret has the name, then the one whose name comes first', () => {
  const all = [second, first, old];
  expect(ownerBefore(old, all)).toBeUndefined();
  expect(ownerBefore(first, all)).toBe(old);
  expect(ownerBefore(second, [second, first])).toBe(first);
  expect(ownerBefore(first, [second, first])).toBeUndefined();
  expect(ownerBefore(first, [decision('0', 'Accepted', { cluster: 'west' })])).toBeUndefined();
});

test('a name that cannot be a cluster’s is nobody’s', () => {
  const pair = ['a', 'b'].map((name) => decision(name, 'Invalid', { cluster: 'East_1' }));
  expect(misjudged(pair)).toEqual([]);
});

test('who no longer fits the others is looked at again', () => {
  expect(misjudged([old, first, second])).toEqual([]);
  // The owner is gone: the next one takes over, and only that one.
  expect(misjudged([second, first])).toEqual(['tether/a']);
  // Two were accepted at a time.
  expect(misjudged([old, { ...first, verdict: 'Accepted' }])).toEqual(['tether/a']);
  // The owner itself thinks that it lost.
  expect(misjudged([{ ...old, verdict: 'Conflict' }, first])).toEqual(['tether/z']);
});

test('a cluster has one description: that of the Secret that owns its name', () => {
  const west = decision('w', 'Invalid', { cluster: 'west' });
  const snapshot = { decisions: [west, second, first, old], watches: new Map(), now: 0 };
  const shown = (all: readonly { secret: string }[]) => all.map(({ secret }) => secret);
  expect(shown(describeSecrets(snapshot))).toEqual(['z', 'a', 'b', 'w'].map((n) => `tether/${n}`));
  expect(shown(describeClusters(snapshot))).toEqual(['tether/z', 'tether/w']);
});

test('who was refused the name comes after who has it, be it the older one', () => {
  const refused = { ...old, verdict: 'Conflict' as const };
  const has = decision('b', 'Accepted');
  const content = { decisions: [refused, has], watches: new Map(), now: 0 };
  expect(describeSecrets(content).map(({ secret }) => secret)).toEqual(['tether/b', 'tether/z']);
  expect(describeClusters(content).map(({ secret }) => secret)).toEqual(['tether/b']);
  const status = statusesOf(content).get('east');
  expect(status?.description.secret).toBe('tether/b');
  expect(status?.refused.map(({ secret }) => secret)).toEqual(['tether/z']);
});
