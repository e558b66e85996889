import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { api, apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  exists,
  mergePatch,
  nameOf,
  remove,
  servicePath,
  setReady,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { spawnTether, type TetherProcess } from '../support/processes.ts';
import { TEST_MANAGER } from '../support/run.ts';
import { rigOf } from '../support/up-rig.ts';

let ns = '';
const rig = rigOf(() => ns);

type Role = 'watcher' | 'worker' | 'up';

async function start(role: Role, prefix: string): Promise<TetherProcess> {
  const tether = spawnTether([role, '--redis-prefix', prefix]);
  await tether.untilLog(/"ready"|ready$/m);
  return tether;
}

const NAMES = [
  'relabelled',
  'moved',
  'deleted',
  'unready',
  'reselected',
  'external',
  'recreated',
  'orphaned',
  'doubled',
  'edited',
  'stripped',
  'renamed',
  'replaced',
] as const;
type Name = (typeof NAMES)[number];

const ipOf = (name: Name): string => `192.0.2.${NAMES.indexOf(name) + 1}`;
const line = (name: Name, state = 'ready'): string => `${ipOf(name)} 8080 ${state}`;

/** A Service a name, each with a workload of its own and a slice. */
async function everyServiceRuns(): Promise<ReadonlyMap<Name, ApiEndpointSlice>> {
  const slices = NAMES.map(async (name): Promise<[Name, ApiEndpointSlice]> => {
    await createService(ns, name);
    await createWorkload(ns, name, name, { ips: [ipOf(name)] });
    return [name, await rig.sliceBecomes(name, [line(name)])];
  });
  return new Map(await Promise.all(slices));
}

/** One change of each kind, none of which is repeated later. */
async function everythingChanges(slices: ReadonlyMap<Name, ApiEndpointSlice>): Promise<void> {
  const patchSpec = (name: Name, spec: object): Promise<unknown> =>
    mergePatch(servicePath(ns, name), { spec });
  const patchSlice = (name: Name, patch: object): Promise<unknown> =>
    mergePatch(slicesPath(ns, nameOf(slices.get(name) ?? {})), patch);
  await mergePatch(workloadPath(ns, 'relabelled'), { metadata: { labels: { app: 'none' } } });
  await mergePatch(workloadPath(ns, 'moved'), { spec: { workloadIPs: [{ ip: '192.0.2.99' }] } });
  await remove(workloadPath(ns, 'deleted'));
  await remove(workloadPath(ns, 'replaced'));
  await createWorkload(ns, 'replaced', 'replaced', { ips: [ipOf('replaced')] });
  await setReady(ns, 'unready', false);
  await patchSpec('reselected', { selector: { app: 'moved' } });
  await patchSpec('external', {
    type: 'ExternalName',
    externalName: 'db.example.net',
    clusterIP: null,
    clusterIPs: null,
  });
  for (const name of ['recreated', 'orphaned'] as const) {
    await apiOk('DELETE', servicePath(ns, name), {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Orphan',
    });
    await eventually(async () => expect(await exists(servicePath(ns, name))).toBe(false));
  }
  await createService(ns, 'recreated');
  const { addressType, endpoints, metadata } = slices.get('doubled') ?? {};
  await apiOk('POST', slicesPath(ns), {
    metadata: {
      name: 'a-double',
      labels: { [LABEL_SERVICE_NAME]: 'doubled', [LABEL_MANAGED_BY]: TEST_MANAGER },
      ownerReferences: metadata?.ownerReferences,
    },
    addressType,
    endpoints,
    ports: [{ name: 'http', port: 9090 }],
  });
  await patchSlice('edited', { endpoints: [{ addresses: ['192.0.2.98'] }] });
  await patchSlice('stripped', { metadata: { ownerReferences: null } });
  await mergePatch(servicePath(ns, 'renamed'), { metadata: { labels: { team: 'blue' } } });
}

async function everythingIsRight(): Promise<void> {
  for (const name of ['relabelled', 'deleted', 'external', 'orphaned'] as const) {
    await rig.noSlices(name);
  }
  for (const name of ['recreated', 'doubled', 'edited', 'stripped'] as const) {
    const slice = await rig.sliceBecomes(name, [line(name)]);
    const service = (await apiOk('GET', servicePath(ns, name))) as ApiEndpointSlice;
    expect(slice.metadata?.ownerReferences).toMatchObject([{ uid: service.metadata?.uid }]);
  }
  await rig.sliceBecomes('moved', ['192.0.2.99 8080 ready']);
  await rig.sliceBecomes('reselected', ['192.0.2.99 8080 ready']);
  await rig.sliceBecomes('unready', [line('unready', 'not-ready')]);
  const { metadata } = (await apiOk('GET', workloadPath(ns, 'replaced'))) as ApiEndpointSlice;
  const targetRef = { name: 'replaced', uid: metadata?.uid };
  await rig.sliceMatches('replaced', { endpoints: [{ targetRef }] });
  await rig.sliceMatches('renamed', { metadata: { labels: { team: 'blue' } } });
}

describe('what changed while nobody looked', () => {
  it.each<[string, readonly Role[], boolean]>([
    ['all was down', ['watcher', 'worker'], true],
    ['all was down, and Redis was emptied', ['watcher', 'worker'], false],
    ['the watcher was down', ['watcher'], true],
    ['the worker was down', ['worker'], true],
  ])('is put right, as %s (A5, report 1, 7, 11, 17, 22, 25)', async (_what, roles, sameRedis) => {
    ns = await freshNamespace('down');
    const prefix = `down-${randomBytes(4).toString('hex')}`;
    const processes = new Map<Role, TetherProcess>();
    const begin = async (role: Role): Promise<unknown> =>
      processes.set(role, await start(role, prefix));
    await Promise.all([begin('watcher'), begin('worker')]);
    const slices = await everyServiceRuns();
    for (const role of roles) await processes.get(role)?.kill();
    await everythingChanges(slices);
    await Promise.all(roles.map((role) => start(role, sameRedis ? prefix : `${prefix}-2`)));
    await everythingIsRight();
  });
});

describe('a slice that was right when all started again', () => {
  it.each([
    ['the same Redis', true],
    ['an empty Redis', false],
  ])(
    'is remade when it is deleted by hand afterwards, with %s (A4, report 13)',
    async (_what, sameRedis) => {
      ns = await freshNamespace('down');
      const prefix = `down-${randomBytes(4).toString('hex')}`;
      const first = await start('up', prefix);
      await createService(ns, 'web');
      await createWorkload(ns, 'vm', 'web');
      const before = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
      await first.kill();
      await start('up', sameRedis ? prefix : `${prefix}-2`);
      await rig.afterwards();
      expect(await rig.onlySlice('web')).toEqual(before);
      expect((await api('DELETE', slicesPath(ns, nameOf(before)))).status).toBe(200);
      await eventually(async () => {
        const { metadata } = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
        expect(metadata?.uid).not.toBe(before.metadata?.uid);
      });
    },
  );
});
