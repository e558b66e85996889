import { afterEach, expect, test } from '@jest/globals';
import type { ClusterDecision } from '../../../core/cluster.ts';
import { silentLogger, type Logger } from '../../../core/logger.ts';
import type { EventInput } from '../../../platform/kube/events.ts';
import { toldKey } from '../../../platform/redis/clusters/keys.ts';
import type { WatchReport } from '../../../platform/redis/clusters/registry.ts';
import {
  createClusterTransitions,
  type ClusterTransitions,
} from '../../../platform/telemetry/cluster-transitions.ts';
import { acceptedDecision } from '../../support/accepted-decision.ts';
import { linkedRig } from '../../support/linked-rig.ts';

const rig = linkedRig();

let told: Pick<EventInput, 'type' | 'reason' | 'message'>[] = [];
let logged: { readonly level: string; readonly message: string }[] = [];
afterEach(() => {
  told = [];
  logged = [];
});

/** As each watcher has them. */
function transitions(registry = rig.registry): ClusterTransitions {
  const { redis, prefix } = rig;
  const write =
    (level: string): Logger['info'] =>
    (_fields, message) =>
      void logged.push({ level, message });
  const log = { ...silentLogger, info: write('info'), warn: write('warn') };
  const emit = ({ type, reason, message }: EventInput): void =>
    void told.push({ type, reason, message });
  return createClusterTransitions({ redis, prefix, registry, log, events: { emit } });
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

test('each state is told once, as a line and as an Event, whichever process sees it', async () => {
  const [one, other] = [transitions(), transitions()];
  const accepted = acceptedDecision('east', { generation: 7, hash: 'h' });
  const decide = (over: Partial<ClusterDecision>) => rig.registry.decide({ ...accepted, ...over });
  const watched = (over: Partial<WatchReport>) =>
    rig.registry.tellWatch({
      cluster: 'east',
      owner: 'watcher-1',
      serving: 7,
      working: 7,
      healthy: true,
      inSync: true,
      reason: '',
      attempts: 0,
      nextTryAt: null,
      objects: 0,
      ...over,
    });
  const steps: readonly [change: () => Promise<unknown>, type: string, said: string][] = [
    [
      () => decide({ verdict: 'Invalid', reason: 'no YAML', accepted: null }),
      'Warning',
      'Invalid: no YAML',
    ],
    [
      () => decide({ verdict: 'Unreachable', reason: 'refused', accepted: null }),
      'Warning',
      'Unreachable: refused',
    ],
    [
      () => decide({ verdict: 'Conflict', reason: 'taken', accepted: null }),
      'Warning',
      'Conflict: taken',
    ],
    [() => decide({}), 'Normal', 'Syncing'],
    [() => watched({}), 'Normal', 'Ready'],
    [() => watched({ healthy: false, inSync: false, reason: 'cut' }), 'Warning', 'Stale: cut'],
    [() => watched({}), 'Normal', 'Ready'],
  ];
  for (const [change] of steps) {
    await change();
    await Promise.all([one.tellAll(), other.tellAll()]);
    await one.tellAll();
  }
  expect(told).toEqual(
    steps.map(([, type, said]) => ({
      type,
      reason: `Cluster${said.split(':')[0]}`,
      message: `cluster east is ${said}`,
    })),
  );
  expect(logged).toEqual(
    steps.map(([, type, said]) => ({
      level: type === 'Warning' ? 'warn' : 'info',
      message: `cluster east is ${said}`,
    })),
  );
});
