import { expect, test } from '@jest/globals';
import type { ClusterDecision, ClusterWatch } from '../../../core/cluster.ts';
import { statusesOf } from '../../../lookup/clusters.ts';

const waited: ClusterDecision = {
  secret: 'tether/b',
  secretUid: 'b',
  createdAt: '2026-01-01T00:00:00Z',
  cluster: 'east',
  verdict: 'Conflict',
  reason: 'east is taken by tether/a',
  since: 0,
  attempts: 0,
  nextTryAt: null,
  hash: 'h',
  loadedAt: 0,
  accepted: null,
};

const watch = (serving: number): ClusterWatch => ({
  cluster: 'east',
  owner: 'watcher-1',
  at: 0,
  serving,
  working: serving,
  healthy: true,
  reason: '',
  attempts: 0,
  nextTryAt: null,
  syncedAt: 0,
  objects: 3,
});

const statusOf = (serving: number) =>
  statusesOf({ decisions: [waited], watches: new Map([['east', watch(serving)]]), now: 0 }).get(
    'east',
  );

test('what a deleted Secret left is read while its name goes to the one that waited for it', () => {
  expect(statusOf(4)).toMatchObject({
    state: 'Conflict',
    stale: true,
    accepted: true,
    description: { answers: true },
  });
});

test('where nothing is served, a Secret that waits for a name gives nothing to read', () => {
  expect(statusOf(0)).toMatchObject({ accepted: false, description: { answers: false } });
});
