import { expect, test } from '@jest/globals';
import { statusesOf } from '../../../lookup/clusters.ts';
import { decision, watch } from './builders.ts';

const waited = decision({
  verdict: 'Conflict',
  reason: 'east is taken by tether/a',
  accepted: null,
});

const statusOf = (serving: number) =>
  statusesOf({ decisions: [waited], watches: new Map([['east', watch({ serving })]]), now: 0 }).get(
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
