import { describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME, LABEL_ZONE } from '../../core/names.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
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

const rig = upRig('diffs');

const patchWorkload = (workload: string, body: object): Promise<unknown> =>
  mergePatch(workloadPath(rig.ns, workload), body);
const setIps = (workload: string, ...ips: string[]): Promise<unknown> =>
  patchWorkload(workload, { spec: { workloadIPs: ips.map((ip) => ({ ip })) } });

describe('the addresses of a workload', () => {
  it('are replaced when they are edited: the new one alone, of the same workload (report 7)', async () => {
    await createService(rig.ns, 'web');
    const { metadata } = await createWorkload(rig.ns, 'vm-c', 'web', { ips: ['192.0.2.32'] });
    await rig.sliceBecomes('web', ['192.0.2.32 8080 ready']);
    await setIps('vm-c', '192.0.2.33');
    const slice = await rig.sliceBecomes('web', ['192.0.2.33 8080 ready']);
    expect(slice.endpoints?.[0]?.targetRef).toEqual({
      kind: 'ExternalWorkload',
      namespace: rig.ns,
      name: 'vm-c',
      uid: metadata?.uid,
    });
  });

  it('may be two: one that is added, moved or taken away changes one endpoint (report 7)', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web', { ips: ['192.0.2.1'] });
    await rig.sliceBecomes('web', ['192.0.2.1 8080 ready']);
    for (const ips of [
      ['192.0.2.1', '192.0.2.2'],
      ['192.0.2.2', '192.0.2.1'],
      ['192.0.2.2', '192.0.2.3'],
      ['192.0.2.3'],
    ]) {
      await setIps('vm', ...ips);
      await rig.sliceBecomes('web', [`${ips.join(',')} 8080 ready`]);
    }
  });

  it('may be swapped between two workloads in one moment (report 7)', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.1'] });
    await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.2'] });
    await rig.sliceBecomes('web', ['192.0.2.1 8080 ready', '192.0.2.2 8080 ready']);
    await Promise.all([setIps('a', '192.0.2.2'), setIps('b', '192.0.2.1')]);
    await eventually(async () => {
      const { endpoints = [] } = await rig.onlySlice('web');
      const pairs = endpoints.map(({ targetRef, addresses }) => [targetRef?.name, addresses]);
      expect(pairs).toEqual([
        ['a', ['192.0.2.2']],
        ['b', ['192.0.2.1']],
      ]);
    });
  });

  it('may be shared: the other workload stays when one goes or is not ready (report 10)', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.50'] });
    await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.50'] });
    await rig.sliceBecomes('web', ['192.0.2.50 8080 ready', '192.0.2.50 8080 ready']);
    await setReady(rig.ns, 'a', false);
    await rig.sliceBecomes('web', ['192.0.2.50 8080 not-ready', '192.0.2.50 8080 ready']);
    await remove(workloadPath(rig.ns, 'a'));
    await rig.sliceBecomes('web', ['192.0.2.50 8080 ready']);
  });

  it('may be shared at different ports: both ports stay known (D9, report 10)', async () => {
    const ports = [
      { name: 'http', port: 80, targetPort: 'http' },
      { name: 'admin', port: 90, targetPort: 'admin' },
    ];
    await createService(rig.ns, 'web', { spec: { ports } });
    const at = (name: string, port: number): object => ({
      ips: ['192.0.2.50'],
      ports: [{ name, port }],
    });
    await createWorkload(rig.ns, 's1', 'web', at('http', 8080));
    await createWorkload(rig.ns, 's2', 'web', at('admin', 9090));
    const both = ['192.0.2.50 8080 ready', '192.0.2.50 9090 ready'];
    await rig.endpointsBecome('web', both);
    for (const [name, port] of [
      ['s1', 8081],
      ['s2', 9091],
    ] as const) {
      await patchWorkload(name, { spec: { ports: [{ name: portName(name), port }] } });
    }
    await rig.endpointsBecome('web', ['192.0.2.50 8081 ready', '192.0.2.50 9091 ready']);
    await remove(workloadPath(rig.ns, 's1'));
    await rig.sliceBecomes('web', ['192.0.2.50 9091 ready']);
  });

  it('of both families make two slices of one workload, each kept by itself (D9, report 9)', async () => {
    await createService(rig.ns, 'web', { spec: { ipFamilyPolicy: 'RequireDualStack' } });
    await createWorkload(rig.ns, 'vm-d', 'web', { ips: ['192.0.2.40', 'fd00:20::40'] });
    await rig.endpointsBecome('web', ['192.0.2.40 8080 ready', 'fd00:20::40 8080 ready']);
    const before = await byFamily('web');
    const targets = Object.values(before).map(({ endpoints }) => endpoints?.[0]?.targetRef?.name);
    expect(targets).toEqual(['vm-d', 'vm-d']);
    await setIps('vm-d', '192.0.2.40', 'fd00:20::41');
    await rig.endpointsBecome('web', ['192.0.2.40 8080 ready', 'fd00:20::41 8080 ready']);
    expect((await byFamily('web'))['IPv4']).toEqual(before['IPv4']);
    await setIps('vm-d', 'fd00:20::41');
    await rig.sliceBecomes('web', ['fd00:20::41 8080 ready']);
    await setIps('vm-d', '192.0.2.40');
    await rig.sliceBecomes('web', ['192.0.2.40 8080 ready']);
  });

  it('that are written in another way cost no write', async () => {
    await createService(rig.ns, 'web', { spec: { ipFamilies: ['IPv6'] } });
    await createWorkload(rig.ns, 'vm', 'web', { ips: ['fd00:20::40'] });
    const before = await rig.sliceBecomes('web', ['fd00:20::40 8080 ready']);
    await setIps('vm', 'FD00:0020:0:0::0040', 'fd00:20::40');
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(before);
  });
});

function portName(workload: string): string {
  return workload === 's1' ? 'http' : 'admin';
}

async function byFamily(service: string): Promise<Record<string, ApiEndpointSlice>> {
  const slices = await slicesOf(rig.ns, service);
  return Object.fromEntries(slices.map((slice) => [slice.addressType ?? '', slice]));
}

describe('a workload', () => {
  it('that was recreated is the new one in the endpoint, though all else is equal (D5)', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web', { ready: null });
    await rig.sliceBecomes('web', ['192.0.2.10 8080 not-ready']);
    await remove(workloadPath(rig.ns, 'vm'));
    const { metadata } = await createWorkload(rig.ns, 'vm', 'web', { ready: null });
    await rig.sliceMatches('web', { endpoints: [{ targetRef: { uid: metadata?.uid } }] });
    await rig.sliceBecomes('web', ['192.0.2.10 8080 not-ready']);
  });

  it('whose readiness changes leaves zone, hostname and target of the others as they were (report 14)', async () => {
    await createService(rig.ns, 'web', {
      spec: { clusterIP: 'None', trafficDistribution: 'PreferClose' },
    });
    for (const [at, name] of ['a', 'b', 'c'].entries()) {
      const labels = { [LABEL_ZONE]: `zone-${name}` };
      await createWorkload(rig.ns, name, 'web', { ips: [`192.0.2.${at + 1}`], labels });
    }
    const all = [1, 2, 3].map((at) => `192.0.2.${at} 8080 ready`);
    const before = await rig.sliceBecomes('web', all);
    expect(before.endpoints?.[0]).toMatchObject({
      zone: 'zone-a',
      hostname: 'a',
      hints: { forZones: [{ name: 'zone-a' }] },
      targetRef: { name: 'a' },
    });
    await setReady(rig.ns, 'b', false);
    await rig.endpointsBecome('web', [all[0], '192.0.2.2 8080 not-ready', all[2]].map(String));
    const after = await rig.onlySlice('web');
    expect(after.endpoints?.[0]).toEqual(before.endpoints?.[0]);
    expect(after.endpoints?.[2]).toEqual(before.endpoints?.[2]);
    const { hints: _hints, ...rest } = before.endpoints?.[1] ?? {};
    const conditions = { ready: false, serving: false, terminating: false };
    expect(after.endpoints?.[1]).toEqual({ ...rest, conditions });
  });

  it('that declares the same ports in another order costs no write (report 15)', async () => {
    const ports = [
      { name: 'a', port: 1, targetPort: 'a' },
      { name: 'b', port: 2, targetPort: 'b' },
    ];
    await createService(rig.ns, 'web', { spec: { ports } });
    const declared = [
      { name: 'a', port: 8080 },
      { name: 'b', port: 9090, protocol: 'TCP' },
    ];
    await createWorkload(rig.ns, 'vm', 'web', { ports: declared });
    const before = await rig.sliceBecomes('web', ['192.0.2.10 8080,9090 ready']);
    await patchWorkload('vm', { spec: { ports: declared.toReversed() } });
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(before);
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { ports: ports.toReversed() } });
    await rig.endpointsBecome('web', ['192.0.2.10 8080,9090 ready']);
    await rig.afterwards();
    expect(await rig.onlySlice('web')).toEqual(before);
  });

  it('whose port was renamed is out of what asks for the old name, and in by the new one', async () => {
    for (const [service, targetPort] of [
      ['old', 'http'],
      ['new', 'web'],
    ] as const) {
      const ports = [{ name: 'p', port: 80, targetPort }];
      await createService(rig.ns, service, { spec: { selector: { app: 'vm' }, ports } });
    }
    await createWorkload(rig.ns, 'vm', 'vm');
    await rig.sliceBecomes('old', ['192.0.2.10 8080 ready']);
    await patchWorkload('vm', { spec: { ports: [{ name: 'web', port: 8080 }] } });
    await rig.sliceBecomes('new', ['192.0.2.10 8080 ready']);
    await rig.noSlices('old');
  });
});

describe('what somebody else writes into our slice', () => {
  const edits: readonly (readonly [string, (slice: ApiEndpointSlice) => object])[] = [
    ['an endpoint more', ({ endpoints = [] }) => ({ endpoints: [...endpoints, other()] })],
    ['an endpoint twice', ({ endpoints = [] }) => ({ endpoints: [...endpoints, ...endpoints] })],
    ['no endpoint', () => ({ endpoints: [] })],
    ['another port', ({ ports = [] }) => ({ ports: ports.map((p) => ({ ...p, port: 9999 })) })],
    ['another port name', ({ ports = [] }) => ({ ports: ports.map((p) => ({ ...p, name: 'x' })) })],
    ['a port more', ({ ports = [] }) => ({ ports: [...ports, { name: 'x', port: 9999 }] })],
    [
      'an application protocol',
      ({ ports = [] }) => ({ ports: [{ ...ports[0], appProtocol: 'h' }] }),
    ],
    ['no ports', () => ({ ports: null })],
    ['other conditions', first({ conditions: { ready: false, serving: true } })],
    ['no conditions', first({ conditions: {} })],
    ['another zone', first({ zone: 'zone-9' })],
    ['a node', first({ nodeName: 'node-1' })],
    ['a hostname', first({ hostname: 'vm-9' })],
    ['hints for a zone', first({ hints: { forZones: [{ name: 'z' }] } })],
    ['hints for a node', first({ hints: { forNodes: [{ name: 'node-1' }] } })],
    ['no target', first({ targetRef: null })],
    ['another target', first({ targetRef: { kind: 'Pod', name: 'vm', namespace: 'other' } })],
  ];

  it('is put back, whatever it is (A4, report 37)', async () => {
    const put = async ([what, edit]: (typeof edits)[number], at: number): Promise<void> => {
      const service = `web-${at}`;
      await createService(rig.ns, service);
      await createWorkload(rig.ns, `vm-${at}`, service);
      const before = await rig.sliceBecomes(service, ['192.0.2.10 8080 ready']);
      const { endpoints, ports } = before;
      await mergePatch(slicesPath(rig.ns, nameOf(before)), edit(before));
      await eventually(async () => {
        const slice = await rig.onlySlice(service);
        const now = { what, endpoints: slice.endpoints, ports: slice.ports };
        expect(now).toEqual({ what, endpoints, ports });
      });
    };
    await Promise.all(edits.map(put));
  });

  it('is put back in a target that says more than ours', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web');
    const before = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    const [endpoint] = before.endpoints ?? [];
    for (const more of [{ fieldPath: 'spec' }, { resourceVersion: '1' }, { apiVersion: 'v9' }]) {
      const targetRef = { ...endpoint?.targetRef, ...more };
      await mergePatch(slicesPath(rig.ns, nameOf(before)), {
        endpoints: [{ ...endpoint, targetRef }],
      });
      await eventually(async () => {
        expect((await rig.onlySlice('web')).endpoints).toEqual(before.endpoints);
      });
    }
  });

  function first(over: object): (slice: ApiEndpointSlice) => object {
    return ({ endpoints = [] }) => ({ endpoints: [{ ...endpoints[0], ...over }] });
  }

  function other(): object {
    return { addresses: ['192.0.2.99'], conditions: { ready: true } };
  }
});

describe('a slice with our labels that somebody else made', () => {
  const ours = (service: string): object => ({
    [LABEL_SERVICE_NAME]: service,
    [LABEL_MANAGED_BY]: TEST_MANAGER,
  });

  it.each(['with our owner', 'without owner'])(
    'is removed, being a double, %s (report 11)',
    async (how) => {
      await createService(rig.ns, 'web');
      await createWorkload(rig.ns, 'vm', 'web');
      const { addressType, endpoints, ports, metadata } = await rig.sliceBecomes('web', [
        '192.0.2.10 8080 ready',
      ]);
      const { ownerReferences } = metadata ?? {};
      await apiOk('POST', slicesPath(rig.ns), {
        metadata: {
          name: 'a-double',
          labels: ours('web'),
          ...(how === 'with our owner' ? { ownerReferences } : {}),
        },
        addressType,
        endpoints,
        ports,
      });
      await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    },
  );

  it('is removed, whatever its type of address', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web');
    const { metadata } = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    const { ownerReferences } = metadata ?? {};
    for (const [name, addressType, address] of [
      ['fqdn', 'FQDN', 'db.example.net'],
      ['six', 'IPv6', 'fd00:20::40'],
    ] as const) {
      await apiOk('POST', slicesPath(rig.ns), {
        metadata: { name, labels: ours('web'), ownerReferences },
        addressType,
        endpoints: [{ addresses: [address] }],
        ports: [{ name: 'http', port: 8080 }],
      });
      await eventually(async () => expect(await exists(slicesPath(rig.ns, name))).toBe(false));
    }
    await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
  });

  it('under the name of ours, with another type of address, is not taken for it', async () => {
    await createService(rig.ns, 'web');
    await createWorkload(rig.ns, 'vm', 'web');
    const before = await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
    const name = nameOf(before);
    await remove(slicesPath(rig.ns, name));
    await apiOk('POST', slicesPath(rig.ns), {
      metadata: { name, labels: ours('web'), ownerReferences: before.metadata?.ownerReferences },
      addressType: 'IPv6',
      endpoints: [],
      ports: [],
    }).catch(() => undefined);
    await rig.sliceBecomes('web', ['192.0.2.10 8080 ready']);
  });
});
