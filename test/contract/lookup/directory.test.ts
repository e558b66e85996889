import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/logger.ts';
import { ClusterDirectory } from '../../../lookup/directory.ts';
import { eventually } from '../../support/eventually.ts';
import { openLookupRig, type LinkedCluster, type LookupRig } from '../../support/lookup-rig.ts';

let rig: LookupRig;
let east: LinkedCluster;
let directory: ClusterDirectory;
let forgotten: string[];
beforeEach(async () => {
  rig = openLookupRig();
  east = await rig.link('east');
  directory = new ClusterDirectory({
    registry: rig.registry,
    forget: (cluster) => forgotten.push(cluster),
    log: silentLogger,
    monotonicMs: () => performance.now(),
  });
  forgotten = [];
  await directory.start();
  expect(directory.get('east')).toBeDefined();
  forgotten = [];
});
afterEach(async () => {
  directory.close();
  await rig.close();
});

const becomes = (linked: boolean): Promise<void> => {
  directory.refresh();
  return eventually(() => expect(directory.get('east') !== undefined).toBe(linked));
};

test('what is known of a cluster is forgotten when it goes, and again when it comes back', async () => {
  await rig.registry.forget(east.secret);
  await becomes(false);
  expect(forgotten).toEqual(['east']);
  await east.decide();
  await becomes(true);
  expect(forgotten).toEqual(['east', 'east']);
});

test('what was read of a view between the end of its Secret and its purge is forgotten', async () => {
  await rig.registry.forget(east.secret);
  await becomes(false);
  directory.purged('east');
  expect(forgotten).toEqual(['east', 'east']);
});
