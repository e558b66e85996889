import { randomUUID } from 'node:crypto';
import { expect, describe, test } from '@jest/globals';
import { UnreachableError } from '../../core/errors.ts';
import { createServiceView } from '../../platform/redis/view/service-view.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  nameOf,
  remove,
  servicePath,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig, type ApiCall } from '../support/reconcile-rig.ts';

const rig = reconcileRig();

/** From now on the process is as good as dead before each request of these verbs. */
function dieBefore(...verbs: readonly ApiCall['verb'][]): void {
  rig.api.before = ({ verb }) => {
    if (verbs.includes(verb)) throw new UnreachableError(verb, new Error('the process is gone'));
  };
}

/** Another process, which knows nothing but what the API server says. */
async function restart(): Promise<void> {
  rig.api.before = () => undefined;
  rig.api.after = () => undefined;
  rig.api.forget();
  rig.prefix = `t-${randomUUID()}`;
  const keys = { prefix: rig.prefix, identity: 'rig.1' };
  rig.writer = createViewWriter(rig.redis, keys, randomUUID);
  const view = createServiceView({ ...keys, redis: rig.redis, identity: () => keys.identity });
  rig.deps = { ...rig.deps, view };
  await rig.see();
}

/** The Service goes, and what it owned stays, as with `--cascade=orphan`: nobody else collects it. */
async function orphan(service: string): Promise<void> {
  for (const slice of await slicesOf(rig.ns, service)) {
    await mergePatch(slicesPath(rig.ns, nameOf(slice)), { metadata: { ownerReferences: null } });
  }
  await remove(servicePath(rig.ns, service));
}

describe('a run that ended between two writes', () => {
  const moved = ['192.0.2.1 8080 ready', '192.0.2.2 9090 ready', '192.0.2.3 8080 ready'];

  async function portsOfOneMove(): Promise<void> {
    const ports = [{ name: 'p', port: 80, targetPort: 'http' }];
    await createService(rig.ns, 'web', { spec: { ports } });
    for (const [at, name] of ['vm-d', 'vm-e', 'vm-f'].entries()) {
      await createWorkload(rig.ns, name, 'web', { ips: [`192.0.2.${at + 1}`] });
    }
    await rig.see();
    await rig.run('web');
    await mergePatch(workloadPath(rig.ns, 'vm-e'), {
      spec: { ports: [{ name: 'http', port: 9090 }] },
    });
    await rig.see();
  }

  test('leaves a double, which whoever starts next removes (F2, H2, report 11)', async () => {
    await portsOfOneMove();
    dieBefore('update', 'delete');
    await rig.run('web');
    const both = await endpointsOf(rig.ns, 'web');
    expect(both.filter((line) => line.startsWith('192.0.2.2 '))).toHaveLength(2);
    await restart();
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { created: 0 } });
    expect(await endpointsOf(rig.ns, 'web')).toEqual(moved);
    expect(await rig.run('web', { read: 'live' })).toMatchObject({
      result: { created: 0, updated: 0, deleted: 0 },
    });
  });

  test('and whose workload moved back meanwhile is undone as well (report 11)', async () => {
    await portsOfOneMove();
    dieBefore('update', 'delete');
    await rig.run('web');
    await mergePatch(workloadPath(rig.ns, 'vm-e'), {
      spec: { ports: [{ name: 'http', port: 8080 }] },
    });
    await restart();
    await rig.run('web');
    expect(await endpointsOf(rig.ns, 'web')).toEqual(
      moved.map((line) => line.replace('9090', '8080')),
    );
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
  });

  test('and whose workload is gone meanwhile leaves nothing of it (report 11)', async () => {
    await portsOfOneMove();
    dieBefore('update', 'delete');
    await rig.run('web');
    await remove(workloadPath(rig.ns, 'vm-e'));
    await restart();
    await rig.run('web');
    expect(await endpointsOf(rig.ns, 'web')).toEqual([moved[0], moved[2]]);
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
  });

  test('and whose Service is gone meanwhile leaves no slice (B1, report 11, 22)', async () => {
    await portsOfOneMove();
    dieBefore('update', 'delete');
    await rig.run('web');
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(2);
    await orphan('web');
    await restart();
    await rig.run('web');
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
  });
});

describe('a slice that was made just before its Service went', () => {
  async function webAndVm(): Promise<void> {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web');
    await rig.see();
  }

  test('goes with the next run, though no watch has shown it yet (B1, report 22)', async () => {
    await webAndVm();
    rig.api.after = async ({ verb }) => {
      if (verb === 'create') await orphan('web');
    };
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { created: 1 } });
    rig.api.after = () => undefined;
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    await rig.see(['service']);
    await rig.run('web');
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
  });

  test('goes as well when its maker never learnt that it made it (B1, report 22)', async () => {
    await webAndVm();
    rig.api.after = async ({ verb }) => {
      if (verb !== 'create') return;
      await orphan('web');
      throw new UnreachableError('create', new Error('connection reset'));
    };
    expect(await rig.run('web')).toMatchObject({ kind: 'retry', failure: true });
    rig.api.after = () => undefined;
    const [slice] = await slicesOf(rig.ns, 'web');
    expect(slice).toBeDefined();
    // Its event comes last of all, and dirties the Service that the slice names.
    await rig.see(['service', 'workload']);
    await rig.run('web');
    await rig.see(['slice']);
    await rig.run('web');
    expect((await slicesOf(rig.ns, 'web')).map(nameOf)).toEqual([]);
  });

  test('from a view that did not know it yet, goes once it does (B1, report 22)', async () => {
    await webAndVm();
    await remove(servicePath(rig.ns, 'web'));
    await rig.run('web');
    const [created] = rig.api.writes();
    await rig.see(['service']);
    await rig.run('web');
    expect(rig.api.writes()).toEqual([created, created?.replace('create', 'delete')]);
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
  });

  test('is owned by the UID that is gone, so that the garbage collector takes it anyway (G3, report 22)', async () => {
    await webAndVm();
    const { metadata } = (await apiOk('GET', servicePath(rig.ns, 'web'))) as {
      metadata: { uid: string };
    };
    rig.api.after = async ({ verb }) => {
      if (verb === 'create') await remove(servicePath(rig.ns, 'web'));
    };
    await rig.run('web');
    const create = rig.api.calls.find(({ verb }) => verb === 'create');
    expect(create?.body).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Service', uid: metadata.uid, controller: true }] },
    });
    await eventually(async () => expect(await slicesOf(rig.ns, 'web')).toEqual([]));
  });
});
