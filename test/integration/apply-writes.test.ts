import { describe, expect, test } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  remove,
  servicePath,
  setReady,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';

const rig = reconcileRig();

const versions = async (service: string): Promise<(string | undefined)[]> =>
  (await slicesOf(rig.ns, service)).map(({ metadata }) => metadata?.resourceVersion);

async function webWith(...workloads: string[]): Promise<void> {
  await createService(rig.ns, 'web');
  for (const [at, name] of workloads.entries()) {
    await createWorkload(rig.ns, name, 'web', { ips: [`192.0.2.${at + 1}`] });
  }
  await rig.see();
  expect(await rig.run('web')).toMatchObject({ kind: 'done' });
  rig.api.forget();
}

describe('what a run asks of the API server', () => {
  test('a change of one slice costs one write and no read (H1, view 7)', async () => {
    await webWith('a', 'b');
    await setReady(rig.ns, 'b', false);
    await rig.see();
    rig.api.forget();
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'done', result: { updated: 1, read: 'view' } });
    expect(rig.api.calls).toHaveLength(1);
    expect(rig.api.writes()).toEqual([expect.stringMatching(/^update slice\/web-ew-/)]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 ready',
      '192.0.2.2 8080 not-ready',
    ]);
  });

  test('a first slice costs one create, the last one a delete, and neither a read', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'a', 'web');
    await rig.see();
    await rig.run('web');
    await remove(workloadPath(rig.ns, 'a'));
    await rig.see();
    await rig.run('web');
    expect(rig.api.writes().map((line) => line.split(' ')[0])).toEqual(['create', 'delete']);
    expect(rig.api.reads()).toEqual([]);
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
  });

  test('a second pass writes nothing, though no watch has told it of the first (H3, view 2)', async () => {
    await webWith('a', 'b');
    const before = await versions('web');
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'done', result: { created: 0, updated: 0, deleted: 0 } });
    expect(rig.api.calls).toEqual([]);
    expect(await versions('web')).toEqual(before);
  });

  test('fifty resyncs of a Service with zone hints write nothing (H3, report 15)', async () => {
    await createService(rig.ns, 'web', { spec: { trafficDistribution: 'PreferClose' } });
    for (const zone of ['a', 'b']) {
      const labels = { 'topology.kubernetes.io/zone': `zone-${zone}` };
      await createWorkload(rig.ns, zone, 'web', { labels });
    }
    await rig.see();
    await rig.run('web');
    const before = await versions('web');
    rig.api.forget();
    for (let pass = 0; pass < 50; pass += 1) await rig.see().then(() => rig.run('web'));
    await rig.run('web', { read: 'live' });
    expect(rig.api.writes()).toEqual([]);
    expect(await versions('web')).toEqual(before);
  });

  test('two workloads that become ready while the slice watch is late share a slice (report 33)', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.1'] });
    await rig.see();
    await rig.run('web');
    await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.2'] });
    await rig.see(['workload']);
    await rig.run('web');
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    expect(rig.api.writes().map((line) => line.split(' ')[0])).toEqual(['create', 'update']);
    expect(rig.api.reads()).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 ready',
      '192.0.2.2 8080 ready',
    ]);
  });

  test('ready, not ready, ready while the slice watch is late: no verdict from an old slice (report 34)', async () => {
    await webWith('a');
    for (const ready of [false, true, false, true]) {
      await setReady(rig.ns, 'a', ready);
      await rig.see(['workload']);
      await rig.run('web');
    }
    expect(rig.api.writes()).toHaveLength(4);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(['192.0.2.1 8080 ready']);
  });
});

describe('the result of a run (H4)', () => {
  test('has counts, the names written, and who was left out and why', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'good', 'web', { ips: ['192.0.2.1'] });
    await createWorkload(rig.ns, 'bad', 'web', { ips: ['169.254.0.1'] });
    await rig.see();
    const outcome = await rig.run('web');
    const [slice] = await slicesOf(rig.ns, 'web');
    expect(outcome).toMatchObject({
      kind: 'done',
      result: {
        created: 1,
        updated: 0,
        deleted: 0,
        endpoints: 1,
        ready: 1,
        slices: 1,
        names: [slice?.metadata?.name],
        leftOut: expect.arrayContaining([
          expect.objectContaining({
            workload: 'bad',
            reason: 'address-refused',
          }),
        ]),
      },
    });
  });

  test('a namespace that is being deleted is a quiet success (H1)', async () => {
    // Not the rig's: it may be gone before the tests are over.
    rig.ns = `${rig.ns}-going`;
    await apiOk('POST', '/api/v1/namespaces', { metadata: { name: rig.ns } });
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'a', 'web');
    await rig.see();
    // Something that cannot go yet keeps the namespace terminating.
    await mergePatch(servicePath(rig.ns, 'web'), {
      metadata: { finalizers: ['example.test/hold'] },
    });
    await remove(`/api/v1/namespaces/${rig.ns}`);
    try {
      const outcome = await rig.run('web');
      expect(rig.told).toEqual(['terminating']);
      expect(outcome).toMatchObject({ kind: 'done', result: { created: 0 } });
      expect(rig.events).toEqual([]);
    } finally {
      await mergePatch(servicePath(rig.ns, 'web'), { metadata: { finalizers: null } });
    }
  });
});
