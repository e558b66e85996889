import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import type { LocalWatcher } from '../../watcher/local-watcher.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  mergePatch,
  nameOf,
  remove,
  setReady,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';
import { startWatcher } from '../support/reconcile-rig-watcher.ts';
import { TEST_MANAGER } from '../support/run.ts';

const rig = reconcileRig();

/** Keys that the watcher put into the queue, in order. */
let added: string[];
let watcher: LocalWatcher;

beforeEach(async () => {
  added = [];
  const { client, redis, prefix, ns } = rig;
  const onAdd = (key: string): void => void added.push(key);
  watcher = await startWatcher({
    client,
    redis,
    prefix,
    namespace: ns,
    clusterUid: 'rig',
    onAdd,
  });
  await watcher.ready;
});
afterEach(() => watcher.stop());

function ours(name: string, service: string): object {
  const labels = { [LABEL_SERVICE_NAME]: service, [LABEL_MANAGED_BY]: TEST_MANAGER };
  return { metadata: { name, labels }, addressType: 'IPv4', endpoints: [], ports: [] };
}

/** Waits until the watcher has judged every slice event up to now. */
async function untilJudged(): Promise<void> {
  const mark = `mark-${randomUUID().slice(0, 8)}`;
  await apiOk('POST', slicesPath(rig.ns), ours(mark, mark));
  await eventually(() => expect(added).toContain(`${rig.ns}/${mark}`));
}

const ofWeb = (): string[] => added.filter((key) => key === `${rig.ns}/web`);

/** `web` with one workload and its slice, all of it known to the watcher; nothing of it counts as added. */
async function webIsWritten(): Promise<string> {
  await createService(rig.ns, 'web');
  await createWorkload(rig.ns, 'vm', 'web');
  await eventually(async () => {
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'done', result: { ready: 1, read: 'view' } });
  });
  await untilJudged();
  added = [];
  const [slice] = await slicesOf(rig.ns, 'web');
  return nameOf(slice ?? {});
}

describe('the echo of a write (A4)', () => {
  test('of our own, made under the lock, is recognised: an update or a deletion costs no second run', async () => {
    await webIsWritten();
    for (const ready of [false, true]) {
      await setReady(rig.ns, 'vm', ready);
      await eventually(() => expect(ofWeb()).toHaveLength(1));
      expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { updated: 1 } });
      await untilJudged();
      expect(ofWeb()).toHaveLength(1);
      added = [];
    }
    await remove(workloadPath(rig.ns, 'vm'));
    await eventually(() => expect(ofWeb()).toHaveLength(1));
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { deleted: 1 } });
    await untilJudged();
    expect(ofWeb()).toHaveLength(1);
  });

  test('of our own, made after the lock was lost, dirties the key: whoever runs next heals it', async () => {
    await webIsWritten();
    await setReady(rig.ns, 'vm', false);
    await eventually(() => expect(ofWeb()).toHaveLength(1));
    // Lost while the write is under way.
    rig.api.before = () => rig.stealLock('web');
    await rig.run('web');
    await eventually(() => expect(ofWeb()).toHaveLength(2));
  });

  test('of somebody else’s change dirties the Service that the slice names', async () => {
    const slice = await webIsWritten();
    await mergePatch(slicesPath(rig.ns, slice), { endpoints: [] });
    await eventually(() => expect(ofWeb()).toHaveLength(1));
  });

  test('of a relabelling dirties both the old and the new Service', async () => {
    const slice = await webIsWritten();
    const labels = { [LABEL_SERVICE_NAME]: 'stolen' };
    await mergePatch(slicesPath(rig.ns, slice), { metadata: { labels } });
    await eventually(() => expect(added.toSorted()).toEqual([`${rig.ns}/stolen`, `${rig.ns}/web`]));
  });

  test('of a slice that lost our manager label dirties its Service, too', async () => {
    const slice = await webIsWritten();
    const labels = { [LABEL_MANAGED_BY]: 'someone-else' };
    await mergePatch(slicesPath(rig.ns, slice), { metadata: { labels } });
    await eventually(() => expect(ofWeb()).toHaveLength(1));
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { ready: 1 } });
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
  });

  test('of a deletion by hand dirties the Service (report 13)', async () => {
    const slice = await webIsWritten();
    await remove(slicesPath(rig.ns, slice));
    await eventually(() => expect(ofWeb()).toHaveLength(1));
  });
});
