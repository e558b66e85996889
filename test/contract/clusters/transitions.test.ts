import { afterEach, expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/logger.ts';
import { toldKey } from '../../../platform/redis/clusters/keys.ts';
import {
  createClusterTransitions,
  type ClusterTransitions,
} from '../../../platform/telemetry/cluster-transitions.ts';
import { linkedRig } from '../../support/linked-rig.ts';

const rig = linkedRig();

let told: string[] = [];
afterEach(() => {
  told = [];
});

/** As each watcher has them. */
function transitions(registry = rig.registry): ClusterTransitions {
  const emit = ({ message }: { message: string }): void => void told.push(message);
  const { redis, prefix } = rig;
  return createClusterTransitions({
    redis,
    prefix,
    registry,
    log: silentLogger,
    events: { emit },
  });
}

const SECRET = 'tether/east';
const link = (): Promise<number> => rig.link('east', { url: 'http://127.0.0.1:9' });
const fields = (): Promise<string[]> => rig.redis.hkeys(toldKey(rig.prefix));

test('a Secret that is forgotten while its state is told leaves nothing behind', async () => {
  await link();
  const decision = await rig.registry.decision(SECRET);
  if (decision === null) throw new Error('nothing was decided');
  const snapshot = await rig.registry.snapshot();
  // Forgotten, and told so, between a look at the registry and what is told of it.
  await rig.registry.forget(SECRET);
  await transitions().tellGone(decision, 'it was deleted');
  await transitions({ ...rig.registry, snapshot: () => Promise.resolve(snapshot) }).tellAll();
  expect(await fields()).toEqual([SECRET]);
  const watcher = transitions();
  await watcher.tellAll();
  expect(await fields()).toEqual([SECRET]);
  await watcher.tellAll();
  expect(await fields()).toEqual([]);
});

test('a Secret that was decided about again keeps its state, which is told once', async () => {
  await link();
  const watcher = transitions();
  await watcher.tellAll();
  await rig.registry.forget(SECRET);
  await watcher.tellAll();
  await link();
  await watcher.tellAll();
  await watcher.tellAll();
  expect(await fields()).toEqual([SECRET]);
  expect(told).toHaveLength(1);
});
