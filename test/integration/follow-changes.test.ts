import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { apiOk } from '../support/api.ts';
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
import { spawnTether } from '../support/processes.ts';
import { TEST_MANAGER } from '../support/run.ts';

/** One `tether up` on the real API server; each test has a namespace of its own. */
let ns: string;

beforeAll(async () => {
  const tether = spawnTether(['up', '--redis-prefix', 'follow'], { lifetime: 'file' });
  await tether.untilLog(/"ready"|ready$/m);
});
beforeEach(async () => {
  ns = await freshNamespace('follow');
});

const endpointsBecome = (service: string, expected: readonly string[]): Promise<void> =>
  eventually(async () => expect(await endpointsOf(ns, service)).toEqual(expected));

async function onlySlice(service: string): Promise<ApiEndpointSlice> {
  const slices = await slicesOf(ns, service);
  expect(slices).toHaveLength(1);
  return slices[0] ?? {};
}

describe('labels of a workload', () => {
  it('takes it out of a Service whose selector it no longer satisfies (A3, report 1)', async () => {
    await createService(ns, 'billing', { spec: { selector: { app: 'billing', live: 'yes' } } });
    await createWorkload(ns, 'vm-a', 'billing', { labels: { live: 'yes' } });
    await endpointsBecome('billing', ['192.0.2.10 8080 ready']);
    await mergePatch(workloadPath(ns, 'vm-a'), { metadata: { labels: { live: 'no' } } });
    await endpointsBecome('billing', []);
    await eventually(async () => expect(await slicesOf(ns, 'billing')).toEqual([]));
  });

  it('moves it from one Service to another in one update (A3, report 2)', async () => {
    await createService(ns, 'blue', { spec: { selector: { color: 'blue' } } });
    await createService(ns, 'green', { spec: { selector: { color: 'green' } } });
    await createWorkload(ns, 'vm-b', 'x', { labels: { color: 'blue' } });
    await endpointsBecome('blue', ['192.0.2.10 8080 ready']);
    await mergePatch(workloadPath(ns, 'vm-b'), { metadata: { labels: { color: 'green' } } });
    await endpointsBecome('green', ['192.0.2.10 8080 ready']);
    await endpointsBecome('blue', []);
  });

  it('moves its zone into the endpoint (A3, D6)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const labels = { 'topology.kubernetes.io/zone': 'zone-1' };
    await mergePatch(workloadPath(ns, 'vm'), { metadata: { labels } });
    await eventually(async () => {
      expect((await onlySlice('web')).endpoints?.[0]?.zone).toBe('zone-1');
    });
  });
});

describe('labels of a Service', () => {
  it('are copied to the slice, and dropped when the Service lost them (G1, report 3)', async () => {
    await createService(ns, 'pay', { labels: { tier: 'gold', extra: 'x' } });
    await createWorkload(ns, 'vm', 'pay');
    await eventually(async () => {
      expect((await onlySlice('pay')).metadata?.labels).toMatchObject({ tier: 'gold', extra: 'x' });
    });
    await mergePatch(servicePath(ns, 'pay'), { metadata: { labels: { extra: null, more: 'y' } } });
    await eventually(async () => {
      const labels = (await onlySlice('pay')).metadata?.labels ?? {};
      expect(labels).toMatchObject({ tier: 'gold', more: 'y' });
      expect(labels).not.toHaveProperty('extra');
    });
  });

  it('never bring annotations along (G2, report 5)', async () => {
    await createService(ns, 'web', { annotations: { 'example.test/applied': '{}' } });
    await createWorkload(ns, 'vm', 'web');
    await eventually(async () => {
      expect(Object.keys((await onlySlice('web')).metadata?.annotations ?? {})).toEqual([
        'endpoints.kubernetes.io/last-change-trigger-time',
      ]);
    });
  });
});

describe('the address', () => {
  it('replaces an address that was edited (report 7)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm-c', 'web', { ips: ['192.0.2.32'] });
    await endpointsBecome('web', ['192.0.2.32 8080 ready']);
    await mergePatch(workloadPath(ns, 'vm-c'), { spec: { workloadIPs: [{ ip: '192.0.2.33' }] } });
    await endpointsBecome('web', ['192.0.2.33 8080 ready']);
  });
});

describe('Services that get no slices', () => {
  it('deletes ours when the Service becomes an ExternalName, and remakes them (B1, report 17)', async () => {
    await createService(ns, 'crm');
    await createWorkload(ns, 'vm', 'crm');
    await endpointsBecome('crm', ['192.0.2.10 8080 ready']);
    const external = { type: 'ExternalName', externalName: 'crm.example.net', clusterIP: null };
    await mergePatch(servicePath(ns, 'crm'), {
      spec: { ...external, clusterIPs: null, selector: null },
    });
    await eventually(async () => expect(await slicesOf(ns, 'crm')).toEqual([]));
    await mergePatch(workloadPath(ns, 'vm'), { spec: { workloadIPs: [{ ip: '192.0.2.11' }] } });
    await mergePatch(servicePath(ns, 'crm'), {
      spec: { type: 'ClusterIP', externalName: null, selector: { app: 'crm' } },
    });
    await endpointsBecome('crm', ['192.0.2.11 8080 ready']);
    expect(await slicesOf(ns, 'crm')).toHaveLength(1);
  });

  it('deletes ours when the selector goes, and leaves those of others alone (B1, report 19, 62)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    await apiOk('POST', slicesPath(ns), {
      metadata: {
        name: 'by-hand',
        labels: {
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'someone-else',
        },
      },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    });
    await mergePatch(servicePath(ns, 'web'), { spec: { selector: null } });
    await eventually(async () => expect(await slicesOf(ns, 'web')).toEqual([]));
    expect(await exists(slicesPath(ns, 'by-hand'))).toBe(true);
  });
});

describe('what others do to a slice', () => {
  it('remakes one that was deleted by hand (A4, report 13)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const before = await onlySlice('web');
    await remove(slicesPath(ns, nameOf(before)));
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    expect((await onlySlice('web')).metadata?.uid).not.toBe(before.metadata?.uid);
  });

  it('puts back endpoints that were edited, and keeps the annotation of another writer (report 37)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const path = slicesPath(ns, nameOf(await onlySlice('web')));
    await mergePatch(path, { metadata: { annotations: { 'example.test/note': 'mine' } } });
    await mergePatch(path, { endpoints: [{ addresses: ['192.0.2.99'] }] });
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    expect((await onlySlice('web')).metadata?.annotations).toHaveProperty(['example.test/note']);
  });

  it('removes a label that is not the Service’s (G1)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const path = slicesPath(ns, nameOf(await onlySlice('web')));
    await mergePatch(path, { metadata: { labels: { foreign: 'yes' } } });
    await eventually(async () => {
      expect((await onlySlice('web')).metadata?.labels).not.toHaveProperty('foreign');
    });
  });

  it('goes on with a fresh slice while a terminating one keeps its name (B4, G4, report 27)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    const stuck = nameOf(await onlySlice('web'));
    await mergePatch(slicesPath(ns, stuck), { metadata: { finalizers: ['example.test/hold'] } });
    await remove(slicesPath(ns, stuck));
    await mergePatch(workloadPath(ns, 'vm'), { spec: { workloadIPs: [{ ip: '192.0.2.11' }] } });
    await eventually(async () => {
      const fresh = (await slicesOf(ns, 'web')).filter((slice) => nameOf(slice) !== stuck);
      expect(fresh.flatMap((slice) => slice.endpoints?.[0]?.addresses)).toEqual(['192.0.2.11']);
    });
    await mergePatch(slicesPath(ns, stuck), { metadata: { finalizers: null } });
    await endpointsBecome('web', ['192.0.2.11 8080 ready']);
  });
});

describe('the life of a Service', () => {
  it('gives a recreated Service slices of its own UID (B5, report 25)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    await remove(servicePath(ns, 'web'));
    const { metadata } = await createService(ns, 'web');
    await eventually(async () => {
      expect((await onlySlice('web')).metadata?.ownerReferences?.[0]?.uid).toBe(metadata?.uid);
    });
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
  });

  it('owns its slices, so that they go with it (G3)', async () => {
    const { metadata } = await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    expect((await onlySlice('web')).metadata?.ownerReferences).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Service',
        name: 'web',
        uid: metadata?.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  it('creates nothing for a Service that is being deleted (B2, report 26)', async () => {
    await createService(ns, 'web');
    await mergePatch(servicePath(ns, 'web'), { metadata: { finalizers: ['example.test/hold'] } });
    await remove(servicePath(ns, 'web'));
    await createService(ns, 'probe', { spec: { selector: { app: 'web' } } });
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('probe', ['192.0.2.10 8080 ready']);
    expect(await slicesOf(ns, 'web')).toEqual([]);
    await mergePatch(servicePath(ns, 'web'), { metadata: { finalizers: null } });
  });

  it('deletes slices left behind by a Service that is gone, garbage collector or not (B1)', async () => {
    await apiOk('POST', slicesPath(ns), {
      metadata: {
        name: 'orphan',
        labels: {
          'kubernetes.io/service-name': 'ghost',
          'endpointslice.kubernetes.io/managed-by': TEST_MANAGER,
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'] }],
      ports: [],
    });
    await eventually(async () => expect(await exists(slicesPath(ns, 'orphan'))).toBe(false));
  });

  it('is not held up by a slice whose label names what no Service can be called', async () => {
    await apiOk('POST', slicesPath(ns), {
      metadata: {
        name: 'odd',
        labels: {
          'kubernetes.io/service-name': 'No_Service',
          'endpointslice.kubernetes.io/managed-by': TEST_MANAGER,
        },
      },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    });
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    await remove(slicesPath(ns, 'odd'));
    await setReady(ns, 'vm', false);
    await endpointsBecome('web', ['192.0.2.10 8080 not-ready']);
  });
});
