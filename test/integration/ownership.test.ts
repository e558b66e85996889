import { describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice, ApiObject } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { api, apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  exists,
  mergePatch,
  nameOf,
  remove,
  servicePath,
  setReady,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { TEST_MANAGER } from '../support/run.ts';
import { upRig } from '../support/up-rig.ts';

const rig = upRig('owners');

const READY = ['192.0.2.10 8080 ready'];

/** A Service `web` with one workload, and its slice. */
async function web(): Promise<{ service: ApiObject; slice: ApiEndpointSlice }> {
  const service = await createService(rig.ns, 'web');
  await createWorkload(rig.ns, 'vm', 'web');
  return { service, slice: await rig.sliceBecomes('web', READY) };
}

const patchSlice = (slice: ApiObject, metadata: object): Promise<unknown> =>
  mergePatch(slicesPath(rig.ns, nameOf(slice)), { metadata });
const setIp = (ip: string): Promise<unknown> =>
  mergePatch(workloadPath(rig.ns, 'vm'), { spec: { workloadIPs: [{ ip }] } });

function ownerOf(service: ApiObject): object {
  const { name, uid } = service.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Service',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

function deleteWith(policy: 'Foreground' | 'Background' | 'Orphan'): Promise<unknown> {
  const path = servicePath(rig.ns, 'web');
  return apiOk('DELETE', path, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    propagationPolicy: policy,
  });
}

describe('every slice', () => {
  it('carries the label of its Service, a manager that is ours alone, and its owner (report 30)', async () => {
    const plain = await createService(rig.ns, 'plain', { spec: { selector: { app: 'x' } } });
    const dual = await createService(rig.ns, 'dual', {
      spec: { selector: { app: 'x' }, ipFamilyPolicy: 'RequireDualStack' },
    });
    const headless = await createService(rig.ns, 'headless', {
      labels: { tier: 'gold' },
      spec: { selector: { app: 'x' }, clusterIP: 'None' },
    });
    await createWorkload(rig.ns, 'a', 'x', { ips: ['192.0.2.1', 'fd00::1'] });
    await createWorkload(rig.ns, 'b', 'x', { ips: ['192.0.2.2', 'fd00::2'] });
    for (const service of [plain, dual, headless]) {
      const families = service === dual ? 2 : 1;
      await eventually(async () => {
        expect(await endpointsOf(rig.ns, nameOf(service))).toHaveLength(2 * families);
      });
    }
    const all = (await apiOk('GET', slicesPath(rig.ns))) as { items: ApiEndpointSlice[] };
    expect(all.items).toHaveLength(4);
    for (const { metadata } of all.items) {
      const service = [plain, dual, headless].find(
        (one) => nameOf(one) === metadata?.labels?.[LABEL_SERVICE_NAME],
      );
      expect(metadata?.labels?.[LABEL_MANAGED_BY]).toBe(TEST_MANAGER);
      expect(metadata?.ownerReferences).toEqual([ownerOf(service ?? {})]);
    }
  });

  it('stays the one of its Service when the Service gets a label (B4, report 29)', async () => {
    const { slice } = await web();
    await mergePatch(servicePath(rig.ns, 'web'), { metadata: { labels: { team: 'blue' } } });
    const relabelled = await rig.sliceMatches('web', { metadata: { labels: { team: 'blue' } } });
    expect(relabelled.metadata?.uid).toBe(slice.metadata?.uid);
    await setIp('192.0.2.11');
    const { metadata } = await rig.sliceBecomes('web', ['192.0.2.11 8080 ready']);
    expect(metadata?.uid).toBe(slice.metadata?.uid);
    expect(metadata?.labels).toMatchObject({ team: 'blue' });
  });

  it('belongs to its namespace: the same name elsewhere is another Service (report 31)', async () => {
    const [red, blue] = [rig.ns, await freshNamespace('owners')];
    const owners = new Map<string, ApiObject>();
    for (const [at, ns] of [red, blue].entries()) {
      owners.set(ns, await createService(ns, 'api'));
      await createWorkload(ns, 'vm', 'api', { ips: [`192.0.2.${at + 1}`] });
    }
    await eventually(async () => {
      expect(await endpointsOf(red, 'api')).toEqual(['192.0.2.1 8080 ready']);
      expect(await endpointsOf(blue, 'api')).toEqual(['192.0.2.2 8080 ready']);
    });
    // A slice of one name in both, as fixed names would have it: each is judged by its own Service.
    for (const ns of [red, blue]) {
      await apiOk('POST', slicesPath(ns), {
        metadata: {
          name: 'api-fixed',
          labels: { [LABEL_SERVICE_NAME]: 'api', [LABEL_MANAGED_BY]: TEST_MANAGER },
          ownerReferences: [ownerOf(owners.get(ns) ?? {})],
          finalizers: ['example.test/hold'],
        },
        addressType: 'IPv4',
        endpoints: [],
        ports: [],
      });
    }
    const [before] = await slicesOf(blue, 'api');
    await remove(servicePath(red, 'api'));
    await eventually(async () => {
      const left = await slicesOf(red, 'api');
      expect(left.map(nameOf)).toEqual(['api-fixed']);
    });
    await setReady(blue, 'vm', false);
    await eventually(async () => {
      expect(await endpointsOf(blue, 'api')).toEqual(['192.0.2.2 8080 not-ready']);
    });
    expect((await slicesOf(blue, 'api')).map(nameOf)).toContain(nameOf(before ?? {}));
    for (const ns of [red, blue]) {
      await mergePatch(slicesPath(ns, 'api-fixed'), { metadata: { finalizers: null } });
    }
  });

  it('keeps its finalizers and its further owners through an update (G3)', async () => {
    const { service, slice } = await web();
    const other = {
      apiVersion: 'v1',
      kind: 'Service',
      ...(await createService(rig.ns, 'other').then(({ metadata }) => ({
        name: 'other',
        uid: metadata?.uid,
      }))),
    };
    await patchSlice(slice, {
      finalizers: ['example.test/hold'],
      ownerReferences: [ownerOf(service), other],
    });
    await setIp('192.0.2.11');
    const { metadata } = await rig.sliceBecomes('web', ['192.0.2.11 8080 ready']);
    expect(metadata?.uid).toBe(slice.metadata?.uid);
    expect(metadata?.finalizers).toEqual(['example.test/hold']);
    expect(metadata?.ownerReferences).toEqual([ownerOf(service), other]);
    await patchSlice(slice, { finalizers: null });
  });
});

describe('an owner reference that somebody edited', () => {
  it.each([
    ['taken away', () => null],
    ['another Service’s', (other: ApiObject) => [ownerOf(other)]],
    ['of a UID that never was', (other: ApiObject) => [stranger(other)]],
  ])('%s: the slice is made anew (B5, report 25)', async (_what, edited) => {
    const { service, slice } = await web();
    const other = await createService(rig.ns, 'other');
    await patchSlice(slice, { ownerReferences: edited(other) });
    await eventually(async () => {
      expect(await endpointsOf(rig.ns, 'web')).toEqual(READY);
      const { metadata } = await rig.onlySlice('web');
      expect(metadata?.ownerReferences).toEqual([ownerOf(service)]);
      expect(metadata?.uid).not.toBe(slice.metadata?.uid);
    });
  });

  it.each([
    ['no longer a controller', { controller: false }],
    ['no longer in the way of a deletion', { blockOwnerDeletion: false }],
    ['neither', { controller: null, blockOwnerDeletion: null }],
  ])('%s: put right in the same slice, once (G3)', async (_what, over) => {
    const { service, slice } = await web();
    await patchSlice(slice, { ownerReferences: [{ ...ownerOf(service), ...over }] });
    await eventually(async () => {
      const { metadata } = await rig.onlySlice('web');
      expect(metadata?.uid).toBe(slice.metadata?.uid);
      expect(metadata?.ownerReferences).toEqual([ownerOf(service)]);
    });
  });

  function stranger(other: ApiObject): object {
    return { ...ownerOf(other), name: 'web', uid: '00000000-0000-4000-8000-000000000000' };
  }
});

describe('a label that somebody edited on our slice', () => {
  it('the manager’s: the Service gets another slice, and one when it is put back (B4, report 29, 30)', async () => {
    const { slice } = await web();
    await patchSlice(slice, { labels: { [LABEL_MANAGED_BY]: null } });
    await eventually(async () => {
      const { metadata } = await rig.onlySlice('web');
      expect(metadata?.uid).not.toBe(slice.metadata?.uid);
    });
    expect(await exists(slicesPath(rig.ns, nameOf(slice)))).toBe(true);
    await patchSlice(slice, { labels: { [LABEL_MANAGED_BY]: TEST_MANAGER } });
    await setIp('192.0.2.11');
    await rig.sliceBecomes('web', ['192.0.2.11 8080 ready']);
  });

  it('the Service’s, now another one’s: each Service has its own endpoints (A4, report 23, 30)', async () => {
    const { slice } = await web();
    await createService(rig.ns, 'shop');
    await createWorkload(rig.ns, 'vm-2', 'shop', { ips: ['192.0.2.20'] });
    await rig.sliceBecomes('shop', ['192.0.2.20 8080 ready']);
    await patchSlice(slice, { labels: { [LABEL_SERVICE_NAME]: 'shop' } });
    await eventually(async () => {
      const { metadata } = await rig.onlySlice('web');
      expect(metadata?.uid).not.toBe(slice.metadata?.uid);
    });
    await rig.sliceBecomes('web', READY);
    await rig.sliceBecomes('shop', ['192.0.2.20 8080 ready']);
  });

  it('the Service’s, now that of none: the slice goes, and the Service gets another (A4, report 23)', async () => {
    const { slice } = await web();
    await patchSlice(slice, { labels: { [LABEL_SERVICE_NAME]: 'ghost' } });
    await eventually(async () => {
      expect(await slicesOf(rig.ns, 'ghost')).toEqual([]);
      expect(await endpointsOf(rig.ns, 'web')).toEqual(READY);
      expect((await rig.onlySlice('web')).metadata?.uid).not.toBe(slice.metadata?.uid);
    });
  });

  it('the Service’s, gone: the Service gets another slice, and one when it is put back (report 30)', async () => {
    const { slice } = await web();
    await patchSlice(slice, { labels: { [LABEL_SERVICE_NAME]: null } });
    await eventually(async () => {
      const { metadata } = await rig.onlySlice('web');
      expect(metadata?.uid).not.toBe(slice.metadata?.uid);
    });
    await patchSlice(slice, { labels: { [LABEL_SERVICE_NAME]: 'web' } });
    await setIp('192.0.2.11');
    await rig.sliceBecomes('web', ['192.0.2.11 8080 ready']);
  });
});

describe('a Service that is deleted and made again', () => {
  it.each(['Background', 'Orphan'] as const)(
    'at once, %s: its slices are its own, not those of the one before (B5, report 25)',
    async (policy) => {
      const { slice } = await web();
      await deleteWith(policy);
      await eventually(async () => expect(await exists(servicePath(rig.ns, 'web'))).toBe(false));
      const service = await createService(rig.ns, 'web');
      await eventually(async () => {
        expect(await endpointsOf(rig.ns, 'web')).toEqual(READY);
        const { metadata } = await rig.onlySlice('web');
        expect(metadata?.ownerReferences).toEqual([ownerOf(service)]);
        expect(metadata?.uid).not.toBe(slice.metadata?.uid);
      });
      await setReady(rig.ns, 'vm', false);
      await rig.sliceBecomes('web', ['192.0.2.10 8080 not-ready']);
    },
  );

  it('five times in a row, with what else changes: ends with one right slice (report 25)', async () => {
    await web();
    for (let time = 1; time <= 5; time += 1) {
      await remove(servicePath(rig.ns, 'web'));
      await setIp(`192.0.2.${10 + time}`);
      await createService(rig.ns, 'web', { labels: { time: `${time}` } });
    }
    await rig.sliceMatches('web', { metadata: { labels: { time: '5' } } });
    await rig.sliceBecomes('web', ['192.0.2.15 8080 ready']);
  });
});

describe('a Service that is being deleted', () => {
  it('in the foreground is not worked against: no slice is made, and the deletion ends (B2, report 26)', async () => {
    const { slice } = await web();
    const hold = ['example.test/hold', 'foregroundDeletion'];
    await mergePatch(servicePath(rig.ns, 'web'), { metadata: { finalizers: hold } });
    await deleteWith('Foreground');
    // The garbage collector may do it as well, and sooner.
    await api('DELETE', slicesPath(rig.ns, nameOf(slice)));
    await createService(rig.ns, 'probe', { spec: { selector: { app: 'web' } } });
    for (const ready of [false, true, false]) {
      await setReady(rig.ns, 'vm', ready);
      const state = ready ? 'ready' : 'not-ready';
      await rig.endpointsBecome('probe', [`192.0.2.10 8080 ${state}`]);
    }
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
    await mergePatch(servicePath(rig.ns, 'web'), { metadata: { finalizers: null } });
    await eventually(async () => expect(await exists(servicePath(rig.ns, 'web'))).toBe(false));
    expect(await slicesOf(rig.ns, 'web')).toEqual([]);
  });

  it('and held is kept up to date in the slices it has, and loses them at the end (B2, report 26)', async () => {
    const { slice } = await web();
    await mergePatch(servicePath(rig.ns, 'web'), {
      metadata: { finalizers: ['example.test/hold'] },
    });
    await deleteWith('Background');
    await setReady(rig.ns, 'vm', false);
    const after = await rig.sliceBecomes('web', ['192.0.2.10 8080 not-ready']);
    expect(after.metadata?.uid).toBe(slice.metadata?.uid);
    await mergePatch(servicePath(rig.ns, 'web'), { metadata: { finalizers: null } });
    await rig.noSlices('web');
  });

  it('leaving its slices as orphans leaves none of ours behind, nor any owned by nobody (report 26)', async () => {
    const { slice } = await web();
    await deleteWith('Orphan');
    await eventually(async () => expect(await exists(servicePath(rig.ns, 'web'))).toBe(false));
    await rig.noSlices('web');
    expect(await exists(slicesPath(rig.ns, nameOf(slice)))).toBe(false);
  });
});

describe('a slice that is going away but cannot yet', () => {
  it('is left alone; a fresh one holds the endpoints and is followed (B4, report 27)', async () => {
    const { slice } = await web();
    await patchSlice(slice, { finalizers: ['example.test/hold'] });
    await remove(slicesPath(rig.ns, nameOf(slice)));
    const fresh = (): Promise<string[]> =>
      slicesOf(rig.ns, 'web').then((all) =>
        all
          .filter((one) => nameOf(one) !== nameOf(slice))
          .flatMap((one) => one.endpoints?.flatMap(({ addresses = [] }) => addresses) ?? []),
      );
    for (const ip of ['192.0.2.11', '192.0.2.12']) {
      await setIp(ip);
      await eventually(async () => expect(await fresh()).toEqual([ip]));
    }
    const stuck = (await apiOk('GET', slicesPath(rig.ns, nameOf(slice)))) as ApiEndpointSlice;
    expect(stuck.endpoints?.[0]?.addresses).toEqual(['192.0.2.10']);
    await patchSlice(slice, { finalizers: null });
    await rig.sliceBecomes('web', ['192.0.2.12 8080 ready']);
  });

  it('because we deleted it, is left alone as well, and its name is not needed (B4, report 27)', async () => {
    const { slice } = await web();
    await patchSlice(slice, { finalizers: ['example.test/hold'] });
    await mergePatch(workloadPath(rig.ns, 'vm'), { metadata: { labels: { app: 'none' } } });
    await eventually(async () => {
      const stuck = (await apiOk('GET', slicesPath(rig.ns, nameOf(slice)))) as ApiObject;
      expect(stuck.metadata?.deletionTimestamp).toBeDefined();
    });
    await mergePatch(workloadPath(rig.ns, 'vm'), { metadata: { labels: { app: 'web' } } });
    await eventually(async () => {
      const fresh = (await slicesOf(rig.ns, 'web')).filter((one) => nameOf(one) !== nameOf(slice));
      expect(fresh).toHaveLength(1);
    });
    await patchSlice(slice, { finalizers: null });
    await rig.sliceBecomes('web', READY);
  });
});

describe('a slice of another manager', () => {
  it('of the same Service and the same endpoints stays as it is, to the last field (B1, report 19)', async () => {
    const { service, slice } = await web();
    const { addressType, endpoints, ports } = slice;
    const foreign = (await apiOk('POST', slicesPath(rig.ns), {
      metadata: {
        name: 'theirs',
        labels: { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: 'someone-else' },
        ownerReferences: [ownerOf(service)],
      },
      addressType,
      endpoints,
      ports,
    })) as ApiEndpointSlice;
    await setIp('192.0.2.11');
    await rig.sliceBecomes('web', ['192.0.2.11 8080 ready']);
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { selector: null } });
    await rig.noSlices('web');
    expect(await apiOk('GET', slicesPath(rig.ns, 'theirs'))).toEqual(foreign);
  });
});
