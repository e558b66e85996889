import { describe, expect, test } from '@jest/globals';
import {
  createService,
  createWorkload,
  endpointsOf,
  nameOf,
  remove,
  servicePath,
  setReady,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';
import { keysOf } from '../support/redis.ts';

const rig = reconcileRig();

async function webWith(...workloads: string[]): Promise<void> {
  await createService(rig.ns, 'web');
  for (const [at, name] of workloads.entries()) {
    await createWorkload(rig.ns, name, 'web', { ips: [`192.0.2.${at + 1}`] });
  }
}

const READS = ['read service/web', 'list workloads', 'list slices'];
const BOTH = ['192.0.2.1 8080 ready', '192.0.2.2 8080 ready'];

describe('without a view', () => {
  test('every read is live where the run asks for it, and no watcher is needed (view 4)', async () => {
    await webWith('a', 'b');
    const outcome = await rig.run('web', { read: 'live' });
    expect(outcome).toMatchObject({ kind: 'done', result: { created: 1, read: 'live' } });
    expect(rig.api.reads()).toEqual(READS);
    expect(rig.told).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
    rig.api.forget();
    await rig.run('web', { read: 'live' });
    expect(rig.api.writes()).toEqual([]);
  });

  test('a run that would use the view reads live, and says so (view 4)', async () => {
    await webWith('a', 'b');
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { read: 'live' } });
    expect(rig.told).toEqual(['not-in-sync']);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
  });

  test('a view that is full but that nobody keeps up to date is not believed (view 4)', async () => {
    await webWith('a', 'b');
    await rig.see();
    await rig.run('web');
    await setReady(rig.ns, 'a', false);
    // The marks ran out, as they do 10 s after the last watcher died.
    const marks = await keysOf(rig.redis, `*${rig.prefix}:${rig.ns}}:*:m:*`);
    expect(marks).toHaveLength(3);
    await rig.redis.del(marks[0] ?? '');
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { read: 'live' } });
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 not-ready',
      '192.0.2.2 8080 ready',
    ]);
  });

  test('a Service that is gone loses its slices', async () => {
    await webWith('a');
    await rig.run('web', { read: 'live' });
    await remove(servicePath(rig.ns, 'web'));
    expect(await rig.run('web', { read: 'live' })).toMatchObject({ kind: 'done' });
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
  });
});

describe('a hole in the view never empties a slice (view 4)', () => {
  test('a workload that the view merely does not know is looked for, and stays', async () => {
    await webWith('a', 'b');
    await rig.see();
    await rig.run('web');
    rig.api.forget();
    await rig.punchHole('workload', 'a');
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { read: 'live' } });
    expect(rig.told).toEqual(['absence-unknown']);
    expect(rig.api.writes()).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
  });

  test('a workload that the view knows to be gone is dropped without asking', async () => {
    await webWith('a', 'b');
    await rig.see();
    await rig.run('web');
    await remove(workloadPath(rig.ns, 'a'));
    await rig.see();
    rig.api.forget();
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { read: 'view' } });
    expect(rig.api.reads()).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(['192.0.2.2 8080 ready']);
  });

  test('a Service that the view merely does not know is looked for, and its slices stay', async () => {
    await webWith('a', 'b');
    await rig.see();
    await rig.run('web');
    rig.api.forget();
    await rig.punchHole('service', 'web');
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { read: 'live' } });
    expect(rig.api.writes()).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
  });

  test('all records gone, marks left: looked for, and nothing is dropped', async () => {
    await webWith('a', 'b');
    await rig.see();
    await rig.run('web');
    for (const name of ['a', 'b']) await rig.punchHole('workload', name);
    await rig.punchHole('service', 'web');
    await rig.run('web');
    expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
  });

  test('a slice that the view does not know makes no double (G4)', async () => {
    await webWith('a', 'b');
    await rig.see();
    await rig.run('web');
    const [slice] = await slicesOf(rig.ns, 'web');
    await rig.punchHole('slice', nameOf(slice ?? {}));
    expect(await rig.run('web')).toMatchObject({ kind: 'done' });
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
  });
});
