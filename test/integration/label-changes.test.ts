import { describe, expect, it } from '@jest/globals';
import {
  LABEL_HEADLESS,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_NAME,
  LABEL_ZONE,
} from '../../core/names.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  mergePatch,
  remove,
  servicePath,
  workloadPath,
} from '../support/objects.ts';
import { TEST_MANAGER } from '../support/run.ts';
import { upRig } from '../support/up-rig.ts';

const rig = upRig('labels');

const relabel = (workload: string, labels: object): Promise<unknown> =>
  mergePatch(workloadPath(rig.ns, workload), { metadata: { labels } });
const patchService = (service: string, body: object): Promise<unknown> =>
  mergePatch(servicePath(rig.ns, service), body);

describe('the labels of a workload', () => {
  it('that swap between two workloads in one moment swap their Services (report 1, 2)', async () => {
    for (const color of ['blue', 'green']) {
      await createService(rig.ns, color, { spec: { selector: { color } } });
    }
    await createWorkload(rig.ns, 'a', 'x', { ips: ['192.0.2.1'], labels: { color: 'blue' } });
    await createWorkload(rig.ns, 'b', 'x', { ips: ['192.0.2.2'], labels: { color: 'green' } });
    await rig.endpointsBecome('blue', ['192.0.2.1 8080 ready']);
    await rig.endpointsBecome('green', ['192.0.2.2 8080 ready']);
    await Promise.all([relabel('a', { color: 'green' }), relabel('b', { color: 'blue' })]);
    await rig.sliceBecomes('blue', ['192.0.2.2 8080 ready']);
    await rig.sliceBecomes('green', ['192.0.2.1 8080 ready']);
  });

  it('that change along with the address lead to all Services of before and after (report 2)', async () => {
    await createService(rig.ns, 'both');
    await createService(rig.ns, 'blue', { spec: { selector: { app: 'both', color: 'blue' } } });
    await createService(rig.ns, 'green', { spec: { selector: { app: 'both', color: 'green' } } });
    await createWorkload(rig.ns, 'vm', 'both', { labels: { color: 'blue' } });
    await rig.endpointsBecome('blue', ['192.0.2.10 8080 ready']);
    await rig.endpointsBecome('both', ['192.0.2.10 8080 ready']);
    await mergePatch(workloadPath(rig.ns, 'vm'), {
      metadata: { labels: { color: 'green' } },
      spec: { workloadIPs: [{ ip: '192.0.2.11' }] },
    });
    await rig.endpointsBecome('green', ['192.0.2.11 8080 ready']);
    await rig.endpointsBecome('both', ['192.0.2.11 8080 ready']);
    await rig.noSlices('blue');
  });

  it('of one that was recreated at once count, not those of the one before (report 1)', async () => {
    await createService(rig.ns, 'blue', { spec: { selector: { color: 'blue' } } });
    await createService(rig.ns, 'green', { spec: { selector: { color: 'green' } } });
    await createWorkload(rig.ns, 'vm', 'x', { labels: { color: 'blue' } });
    await rig.endpointsBecome('blue', ['192.0.2.10 8080 ready']);
    await remove(workloadPath(rig.ns, 'vm'));
    await createWorkload(rig.ns, 'vm', 'x', { labels: { color: 'green' } });
    await rig.endpointsBecome('green', ['192.0.2.10 8080 ready']);
    await rig.noSlices('blue');
  });

  it('that all go take it out of every Service (report 1)', async () => {
    await createService(rig.ns, 'web');
    await createService(rig.ns, 'live', { spec: { selector: { live: '' } } });
    await createWorkload(rig.ns, 'vm', 'web', { labels: { live: '' } });
    await rig.endpointsBecome('web', ['192.0.2.10 8080 ready']);
    await rig.endpointsBecome('live', ['192.0.2.10 8080 ready']);
    await mergePatch(workloadPath(rig.ns, 'vm'), { metadata: { labels: null } });
    await rig.noSlices('web');
    await rig.noSlices('live');
  });

  it('with an empty value match a selector that asks for just that (report 1)', async () => {
    await createService(rig.ns, 'live', { spec: { selector: { live: '' } } });
    await createWorkload(rig.ns, 'none', 'x', { ips: ['192.0.2.1'] });
    await createWorkload(rig.ns, 'other', 'x', { ips: ['192.0.2.2'], labels: { live: 'no' } });
    await createWorkload(rig.ns, 'empty', 'x', { ips: ['192.0.2.3'], labels: { live: '' } });
    await rig.endpointsBecome('live', ['192.0.2.3 8080 ready']);
    await relabel('other', { live: '' });
    await rig.endpointsBecome('live', ['192.0.2.2 8080 ready', '192.0.2.3 8080 ready']);
    await relabel('empty', { live: null });
    await rig.endpointsBecome('live', ['192.0.2.2 8080 ready']);
  });

  it('that no Service asks for cost no write', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web');
    const before = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    await relabel('vm', { color: 'blue' });
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(before);
  });

  it('move the zone, and take it away again (D6)', async () => {
    await createService(rig.ns, 'web', { spec: { trafficDistribution: 'PreferClose' } });
    await createWorkload(rig.ns, 'vm', 'web', { labels: { [LABEL_ZONE]: 'zone-1' } });
    const inZone = (zone: string): object => ({
      endpoints: [{ zone, hints: { forZones: [{ name: zone }] } }],
    });
    await rig.sliceMatches('web', inZone('zone-1'));
    await relabel('vm', { [LABEL_ZONE]: 'zone-2' });
    await rig.sliceMatches('web', inZone('zone-2'));
    for (const none of ['', null]) {
      await relabel('vm', { [LABEL_ZONE]: none });
      await eventually(async () => {
        const [endpoint] = (await rig.onlySlice('web')).endpoints ?? [];
        expect(endpoint).toBeDefined();
        expect(endpoint).not.toHaveProperty('zone');
        expect(endpoint).not.toHaveProperty('hints');
      });
      await relabel('vm', { [LABEL_ZONE]: 'zone-1' });
      await rig.sliceMatches('web', inZone('zone-1'));
    }
  });
});

describe('the selector of a Service', () => {
  it('takes other workloads when its value changes, gains a key or loses one (report 1)', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.1'] });
    await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.2'], labels: { live: 'yes' } });
    await createWorkload(rig.ns, 'c', 'shop', { ips: ['192.0.2.3'], labels: { live: 'yes' } });
    await rig.sliceBecomes('web', ['192.0.2.1 8080 ready', '192.0.2.2 8080 ready']);
    await patchService('web', { spec: { selector: { live: 'yes' } } });
    await rig.sliceBecomes('web', ['192.0.2.2 8080 ready']);
    await patchService('web', { spec: { selector: { app: null } } });
    await rig.sliceBecomes('web', ['192.0.2.2 8080 ready', '192.0.2.3 8080 ready']);
    await patchService('web', { spec: { selector: { app: 'shop', live: null } } });
    await rig.sliceBecomes('web', ['192.0.2.3 8080 ready']);
    // The workloads that it follows from now on are the new ones.
    await relabel('c', { app: 'web' });
    await rig.noSlices('web');
    await relabel('a', { app: 'shop' });
    await rig.sliceBecomes('web', ['192.0.2.1 8080 ready']);
  });

  it('and its labels may change in one update (report 3, 29)', async () => {
    await createService(rig.ns, 'web', { labels: { tier: 'gold' } });
    await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.1'] });
    await createWorkload(rig.ns, 'b', 'shop', { ips: ['192.0.2.2'] });
    const before = await rig.sliceBecomes('web', ['192.0.2.1 8080 ready']);
    await patchService('web', {
      metadata: { labels: { tier: null, team: 'blue' } },
      spec: { selector: { app: 'shop' } },
    });
    const after = await rig.sliceBecomes('web', ['192.0.2.2 8080 ready']);
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    expect(after.metadata?.labels).toEqual({
      team: 'blue',
      [LABEL_SERVICE_NAME]: 'web',
      [LABEL_MANAGED_BY]: TEST_MANAGER,
    });
  });
});

describe('the labels of a Service', () => {
  const PROXY = 'service.kubernetes.io/service-proxy-name';

  it('are followed both ways, the one that tells kube-proxy to keep out included (G1, report 3)', async () => {
    await createService(rig.ns, 'pay', { labels: { tier: 'gold', [PROXY]: 'other' } });
    await createWorkload(rig.ns, 'vm', 'pay');
    await rig.sliceMatches('pay', { metadata: { labels: { tier: 'gold', [PROXY]: 'other' } } });
    await patchService('pay', { metadata: { labels: { [PROXY]: null } } });
    await eventually(async () => {
      expect((await rig.onlySlice('pay')).metadata?.labels).toEqual({
        tier: 'gold',
        [LABEL_SERVICE_NAME]: 'pay',
        [LABEL_MANAGED_BY]: TEST_MANAGER,
      });
    });
    await patchService('pay', { metadata: { labels: { tier: '', [PROXY]: 'third' } } });
    await rig.sliceMatches('pay', { metadata: { labels: { tier: '', [PROXY]: 'third' } } });
    await patchService('pay', { metadata: { labels: null } });
    await eventually(async () => {
      expect((await rig.onlySlice('pay')).metadata?.labels).toEqual({
        [LABEL_SERVICE_NAME]: 'pay',
        [LABEL_MANAGED_BY]: TEST_MANAGER,
      });
    });
  });

  it('that are reserved are computed, whatever the Service says of itself (G1, report 6, 30)', async () => {
    const claims = {
      [LABEL_HEADLESS]: 'yes',
      [LABEL_SERVICE_NAME]: 'other',
      [LABEL_MANAGED_BY]: 'someone-else',
    };
    const computed = { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: TEST_MANAGER };
    await createService(rig.ns, 'web', { labels: { ...claims, tier: 'gold' } });
    await createService(rig.ns, 'head', { labels: claims, spec: { clusterIP: 'None' } });
    await createWorkload(rig.ns, 'vm', 'web');
    await createWorkload(rig.ns, 'vm-2', 'head');
    const slice = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    expect(slice.metadata?.labels).toEqual({ ...computed, tier: 'gold' });
    const headless = await rig.sliceBecomes('head', ['192.0.2.10 8080 ready']);
    expect(headless.metadata?.labels).toEqual({
      ...computed,
      [LABEL_SERVICE_NAME]: 'head',
      [LABEL_HEADLESS]: '',
    });
    // Nor do they cause a write when they come and go.
    await patchService('web', { metadata: { labels: { [LABEL_HEADLESS]: null } } });
    await patchService('web', { metadata: { labels: { [LABEL_MANAGED_BY]: 'third' } } });
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(slice);
  });

  it('include the headless one exactly while it has no cluster IP (G1, report 6)', async () => {
    await createService(rig.ns, 'web', { spec: { clusterIP: 'None' } });
    await createWorkload(rig.ns, 'vm', 'web');
    const headless = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    expect(headless.metadata?.labels).toHaveProperty([LABEL_HEADLESS], '');
    expect(headless.endpoints?.[0]?.hostname).toBe('vm');
    await toExternalName('web');
    await patchService('web', { spec: { type: 'ClusterIP', externalName: null } });
    await eventually(async () => {
      const { metadata, endpoints } = await rig.onlySlice('web');
      expect(metadata?.labels).not.toHaveProperty([LABEL_HEADLESS]);
      expect(endpoints?.[0]).not.toHaveProperty('hostname');
    });
    await toExternalName('web');
    await patchService('web', {
      spec: { type: 'ClusterIP', externalName: null, clusterIP: 'None', clusterIPs: ['None'] },
    });
    await rig.sliceMatches('web', {
      metadata: { labels: { [LABEL_HEADLESS]: '' } },
      endpoints: [{ hostname: 'vm' }],
    });
  });

  async function toExternalName(service: string): Promise<void> {
    const none = { clusterIP: null, clusterIPs: null };
    await patchService(service, {
      spec: { type: 'ExternalName', externalName: 'db.example.net', ...none },
    });
    await rig.noSlices(service);
  }
});

describe('the annotations of a Service', () => {
  it('never reach a slice, that of kubectl apply least of all, nor cost a write (G2, report 5)', async () => {
    const key = 'kubectl.kubernetes.io/last-applied-configuration';
    await createService(rig.ns, 'web', { annotations: { [key]: '{}', 'example.test/note': 'a' } });
    await createWorkload(rig.ns, 'vm', 'web');
    const before = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    expect(Object.keys(before.metadata?.annotations ?? {})).toEqual([
      'endpoints.kubernetes.io/last-change-trigger-time',
    ]);
    await patchService('web', { metadata: { annotations: { [key]: '{"a":1}' } } });
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(before);
  });

  it.each([
    ['the annotation topology-mode', { metadata: { annotations: topologyMode('Auto') } }],
    ['a traffic distribution', { spec: { trafficDistribution: 'PreferClose' } }],
  ])('%s brings hints, and they go with it (D8)', async (_what, patch) => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web', { labels: { [LABEL_ZONE]: 'zone-1' } });
    await rig.sliceMatches('web', { endpoints: [{ zone: 'zone-1' }] });
    await patchService('web', patch);
    await rig.sliceMatches('web', { endpoints: [{ hints: { forZones: [{ name: 'zone-1' }] } }] });
    await patchService('web', {
      metadata: { annotations: topologyMode(null) },
      spec: { trafficDistribution: null },
    });
    await eventually(async () => {
      const slice = await rig.onlySlice('web');
      expect(slice.endpoints?.[0]).toMatchObject({ zone: 'zone-1' });
      expect(slice.endpoints?.[0]).not.toHaveProperty('hints');
    });
  });
});

function topologyMode(value: string | null): object {
  return { 'service.kubernetes.io/topology-mode': value };
}
