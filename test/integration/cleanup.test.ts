import { describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice, ApiObject } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { api, apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  exists,
  mergePatch,
  nameOf,
  remove,
  servicePath,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { runTether } from '../support/processes.ts';
import { TEST_MANAGER } from '../support/run.ts';
import { upRig } from '../support/up-rig.ts';

const rig = upRig('cleanup', ['--max-endpoints-per-slice', '10']);

const READY = ['192.0.2.10 8080 ready'];
const NO_IP = { clusterIP: null, clusterIPs: null };
const EXTERNAL = { type: 'ExternalName', externalName: 'db.example.net', ...NO_IP };
const INTERNAL = { type: 'ClusterIP', externalName: null };
const HEADLESS = { clusterIP: 'None', clusterIPs: ['None'] };

const patchSpec = (service: string, spec: object): Promise<unknown> =>
  mergePatch(servicePath(rig.ns, service), { spec });
const setIp = (workload: string, ip: string): Promise<unknown> =>
  mergePatch(workloadPath(rig.ns, workload), { spec: { workloadIPs: [{ ip }] } });

/** A Service with one workload, and its slice. */
async function running(name: string, spec: object = {}): Promise<ApiEndpointSlice> {
  await createService(rig.ns, name, { spec: { ...spec } });
  await createWorkload(rig.ns, 'vm', name);
  return rig.sliceBecomes(name, READY);
}

describe('a Service that becomes an ExternalName', () => {
  it.each([
    ['of a cluster IP', {}, { selector: null }],
    ['of a cluster IP, selector kept', {}, {}],
    ['headless', HEADLESS, { selector: null }],
    ['headless, selector kept', HEADLESS, {}],
    ['of a node port', { type: 'NodePort' }, {}],
    ['of a load balancer', { type: 'LoadBalancer' }, { selector: null }],
  ])(
    '%s: has no slice then, and one with the new address when it is back (B1, report 17)',
    async (_what, before, then) => {
      await running('crm', before);
      await patchSpec('crm', { ...EXTERNAL, ...then });
      await rig.noSlices('crm');
      await setIp('vm', '192.0.2.11');
      await rig.afterwards();
      expect(await slicesOf(rig.ns, 'crm')).toEqual([]);
      await patchSpec('crm', { ...INTERNAL, ...before, selector: { app: 'crm' } });
      await rig.sliceBecomes('crm', ['192.0.2.11 8080 ready']);
    },
  );

  it('and back, five times at once, ends with one slice (B1, report 17)', async () => {
    await running('crm');
    for (let time = 1; time <= 5; time += 1) {
      await patchSpec('crm', EXTERNAL);
      await setIp('vm', `192.0.2.${10 + time}`);
      await patchSpec('crm', INTERNAL);
    }
    await rig.sliceBecomes('crm', ['192.0.2.15 8080 ready']);
  });

  it('and was one from the start has no slice, selector or not; as a ClusterIP it has one (B1, report 18)', async () => {
    await createService(rig.ns, 'db', { spec: EXTERNAL });
    await createWorkload(rig.ns, 'vm', 'db');
    await rig.afterwards();
    expect(await allSlices('db')).toEqual([]);
    await patchSpec('db', INTERNAL);
    const slice = await rig.sliceBecomes('db', READY);
    expect(slice.metadata?.labels).not.toHaveProperty(['service.kubernetes.io/headless']);
  });
});

/** Whoever manages them. */
async function allSlices(service: string): Promise<ApiEndpointSlice[]> {
  const selector = encodeURIComponent(`${LABEL_SERVICE_NAME}=${service}`);
  const list = await apiOk('GET', `${slicesPath(rig.ns)}?labelSelector=${selector}`);
  return (list as { items: ApiEndpointSlice[] }).items;
}

describe('a selector', () => {
  it('that goes and comes back: ours is right, theirs is left alone, and people are told (B1, report 19)', async () => {
    await running('web');
    await patchSpec('web', { selector: null });
    await rig.noSlices('web');
    const theirs = await apiOk('POST', slicesPath(rig.ns), {
      metadata: {
        name: 'theirs',
        labels: { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: 'someone-else' },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.10'] }],
      ports: [{ name: 'http', port: 8080 }],
    });
    await setIp('vm', '192.0.2.11');
    await patchSpec('web', { selector: { app: 'web' } });
    await rig.sliceBecomes('web', ['192.0.2.11 8080 ready']);
    expect(await apiOk('GET', slicesPath(rig.ns, 'theirs'))).toEqual(theirs);
    const status = await runTether(['status', '--redis-prefix', 'cleanup']);
    expect(status.stdout).toMatch(new RegExp(`${rig.ns}/web +someone-else +1`));
  });

  it('that becomes empty selects nothing any more, and nobody’s slice but ours goes (B1, report 19)', async () => {
    await running('web');
    await patchSpec('web', { selector: { app: null } });
    await rig.noSlices('web');
    await patchSpec('web', { selector: { app: 'web' } });
    await rig.sliceBecomes('web', READY);
  });
});

describe('the last workload', () => {
  it('takes the slice with it, and brings one when it is back', async () => {
    await running('web');
    await remove(workloadPath(rig.ns, 'vm'));
    await rig.noSlices('web');
    await createWorkload(rig.ns, 'vm', 'web', { ips: ['192.0.2.11'] });
    await rig.sliceBecomes('web', ['192.0.2.11 8080 ready']);
  });

  it('among twenty-five that are deleted in one request takes all slices with it', async () => {
    await createService(rig.ns, 'web');
    await createService(rig.ns, 'shop');
    await createWorkload(rig.ns, 'shop', 'shop');
    const names = Array.from({ length: 25 }, (_, at) => `vm-${at}`);
    await Promise.all(
      names.map((name, at) =>
        createWorkload(rig.ns, name, 'web', { ips: [`192.0.2.${at + 1}`], ready: null }),
      ),
    );
    await eventually(async () => {
      expect(await endpointsOf(rig.ns, 'web')).toHaveLength(names.length);
    });
    await rig.endpointsBecome('shop', READY);
    const [shop] = await slicesOf(rig.ns, 'shop');
    await apiOk('DELETE', `${workloadPath(rig.ns)}?labelSelector=app%3Dweb`);
    await rig.noSlices('web');
    expect(await slicesOf(rig.ns, 'shop')).toEqual([shop]);
  });
});

describe('a family', () => {
  it('that a Service gives up takes its slice with it, and comes back with one (C2)', async () => {
    await createService(rig.ns, 'web', { spec: { ipFamilyPolicy: 'RequireDualStack' } });
    await createWorkload(rig.ns, 'vm', 'web', { ips: ['192.0.2.10', 'fd00::10'] });
    const both = ['192.0.2.10 8080 ready', 'fd00::10 8080 ready'];
    await rig.endpointsBecome('web', both);
    const service = (await apiOk('GET', servicePath(rig.ns, 'web'))) as {
      spec: { clusterIPs: string[]; ipFamilies: string[] };
    };
    const first = {
      ipFamilies: service.spec.ipFamilies.slice(0, 1),
      clusterIPs: service.spec.clusterIPs.slice(0, 1),
    };
    await patchSpec('web', { ipFamilyPolicy: 'SingleStack', ...first });
    await rig.sliceBecomes('web', READY);
    await patchSpec('web', {
      ipFamilyPolicy: 'RequireDualStack',
      ipFamilies: ['IPv4', 'IPv6'],
      clusterIPs: first.clusterIPs,
    });
    await rig.endpointsBecome('web', both);
  });

  it('of a Service made again with another one leaves no slice of the old (C2, report 17)', async () => {
    await createService(rig.ns, 'web', { spec: { ipFamilies: ['IPv4'] } });
    await createWorkload(rig.ns, 'vm', 'web', { ips: ['192.0.2.10', 'fd00::10'] });
    await rig.sliceBecomes('web', READY);
    await remove(servicePath(rig.ns, 'web'));
    await createService(rig.ns, 'web', { spec: { ipFamilies: ['IPv6'] } });
    await rig.sliceBecomes('web', ['fd00::10 8080 ready']);
  });
});

describe('a Service among others', () => {
  it('that is new, or goes, leaves theirs as they are, however alike the names (B4, report 23)', async () => {
    const names = ['a', 'a-ew', 'a-a', 'aa'];
    for (const [at, name] of names.entries()) {
      await createService(rig.ns, name);
      await createWorkload(rig.ns, `vm-${name}`, name, { ips: [`192.0.2.${at + 1}`] });
      await rig.sliceBecomes(name, [`192.0.2.${at + 1} 8080 ready`]);
    }
    const all = (): Promise<ApiEndpointSlice[][]> =>
      Promise.all(names.map((name) => slicesOf(rig.ns, name)));
    const before = await all();
    await createService(rig.ns, 'c');
    await rig.afterwards();
    await createWorkload(rig.ns, 'vm-c', 'c', { ips: ['192.0.2.99'] });
    await rig.sliceBecomes('c', ['192.0.2.99 8080 ready']);
    await remove(servicePath(rig.ns, 'c'));
    await rig.noSlices('c');
    expect(await all()).toEqual(before);
    await remove(servicePath(rig.ns, 'a'));
    await rig.noSlices('a');
    expect((await all()).slice(1)).toEqual(before.slice(1));
  });
});

describe('a namespace', () => {
  it('that is deleted and made again gets the slices of its new Services (report 21)', async () => {
    const old = await running('web');
    await apiOk('DELETE', `/api/v1/namespaces/${rig.ns}`);
    await eventually(async () => expect(await exists(`/api/v1/namespaces/${rig.ns}`)).toBe(false));
    await apiOk('POST', '/api/v1/namespaces', { metadata: { name: rig.ns } });
    const service = (await createService(rig.ns, 'web')) as ApiObject;
    await createWorkload(rig.ns, 'vm', 'web');
    const slice = await rig.sliceBecomes('web', READY);
    expect(slice.metadata?.uid).not.toBe(old.metadata?.uid);
    expect(slice.metadata?.ownerReferences).toMatchObject([{ uid: service.metadata?.uid }]);
    await mergePatch(servicePath(rig.ns, 'web'), { metadata: { labels: { a: 'b' } } });
    await rig.sliceMatches('web', { metadata: { labels: { a: 'b' } } });
  });
});

describe('a slice with our labels of a Service that is not there', () => {
  it.each(['without owner', 'of an owner that is there', 'held by a finalizer'])(
    '%s: goes, whenever it was made (B1, report 22)',
    async (how) => {
      const { metadata } = await createService(rig.ns, 'other');
      const { name, uid } = metadata ?? {};
      const owner = { apiVersion: 'v1', kind: 'Service', name, uid };
      await apiOk('POST', slicesPath(rig.ns), {
        metadata: {
          name: 'stray',
          labels: { [LABEL_SERVICE_NAME]: 'ghost', [LABEL_MANAGED_BY]: TEST_MANAGER },
          ...(how === 'of an owner that is there' ? { ownerReferences: [owner] } : {}),
          ...(how === 'held by a finalizer' ? { finalizers: ['example.test/hold'] } : {}),
        },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['192.0.2.1'] }],
        ports: [],
      });
      const path = slicesPath(rig.ns, 'stray');
      if (how === 'held by a finalizer') {
        await eventually(async () => {
          const { metadata: stray } = (await apiOk('GET', path)) as ApiObject;
          expect(stray?.deletionTimestamp).toBeDefined();
        });
        await mergePatch(path, { metadata: { finalizers: null } });
      }
      await eventually(async () => expect((await api('GET', path)).status).toBe(404));
    },
  );

  it('is none of ours where another manager made it', async () => {
    const slice = (await apiOk('POST', slicesPath(rig.ns), {
      metadata: {
        name: 'theirs',
        labels: { [LABEL_SERVICE_NAME]: 'ghost', [LABEL_MANAGED_BY]: 'someone-else' },
      },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    })) as ApiEndpointSlice;
    await createService(rig.ns, 'ghost');
    await remove(servicePath(rig.ns, 'ghost'));
    await rig.afterwards();
    expect(await apiOk('GET', slicesPath(rig.ns, nameOf(slice)))).toEqual(slice);
  });
});
