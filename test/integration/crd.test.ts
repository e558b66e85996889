import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CRD_NAME, crdManifestPath, crdOwner, loadCrdManifest } from '../../platform/kube/crd.ts';
import { api, apiOk } from '../support/api.ts';
import { kubectl } from '../support/kubectl.ts';
import { freshNamespace } from '../support/namespaces.ts';

type Version = 'v1alpha1' | 'v1beta1';
type Json = Readonly<Record<string, unknown>>;

const IDENTITY = { identity: 'spiffe://root.example/vm', serverName: 'vm.example' };
const FIELD = { v1alpha1: 'meshTls', v1beta1: 'meshTLS' } as const;
/** What a case is called, the version it is written in, and its spec. */
type Row = readonly [string, Version, Json | null];

const READY = { type: 'Ready', status: 'True' };

let namespace: string;
let serial = 0;
beforeAll(async () => {
  namespace = await freshNamespace('crd');
});

const path = (version: Version, name = '') =>
  `/apis/workload.linkerd.io/${version}/namespaces/${namespace}/externalworkloads${name && `/${name}`}`;

/** An object of a name of its own; without a spec it is nothing but an identity. */
function workload(version: Version, spec: Json | null = {}, status?: Json): Json {
  serial += 1;
  return {
    apiVersion: `workload.linkerd.io/${version}`,
    kind: 'ExternalWorkload',
    metadata: { name: `vm-${serial}` },
    ...(spec === null ? {} : { spec: { [FIELD[version]]: IDENTITY, ...spec } }),
    ...(status === undefined ? {} : { status }),
  };
}

async function create(version: Version, object: Json): Promise<string> {
  await apiOk('POST', path(version), object);
  return `vm-${serial}`;
}

const read = (version: Version, name: string) => apiOk('GET', path(version, name));

describe('what Linkerd accepts and stores is accepted', () => {
  test.each<Row>([
    ['an identity alone', 'v1alpha1', {}],
    ['an identity alone', 'v1beta1', {}],
    ['text that is no address', 'v1beta1', { workloadIPs: [{ ip: 'not-an-ip' }] }],
    ['an address that no slice may hold', 'v1beta1', { workloadIPs: [{ ip: '127.0.0.1' }] }],
    ['an entry without an address', 'v1alpha1', { workloadIPs: [{}] }],
    ['one address twice', 'v1beta1', { workloadIPs: [{ ip: '192.0.2.1' }, { ip: '192.0.2.1' }] }],
    ['two addresses of a family', 'v1beta1', { workloadIPs: [{ ip: '::a' }, { ip: '::b' }] }],
    ['no addresses', 'v1beta1', { workloadIPs: [], ports: [] }],
    [
      'a port name twice',
      'v1beta1',
      {
        ports: [
          { name: 'a', port: 1 },
          { name: 'a', port: 2 },
        ],
      },
    ],
    ['a port number twice', 'v1alpha1', { ports: [{ port: 1 }, { port: 1 }] }],
    ['a port name of any kind', 'v1beta1', { ports: [{ name: 'Not A Name', port: 65535 }] }],
    ['a protocol of any kind', 'v1beta1', { ports: [{ port: 1, protocol: 'tcp' }] }],
  ])('%s (%s)', async (_what, version, spec) => {
    await create(version, workload(version, spec));
  });
});

describe('what is plainly wrong is refused, with the field named', () => {
  test.each<Row>([
    ['spec.ports[0].port', 'v1beta1', { ports: [{ port: 0 }] }],
    ['spec.ports[0].port', 'v1beta1', { ports: [{ port: 65536 }] }],
    ['spec.ports[0].port', 'v1alpha1', { ports: [{ name: 'http' }] }],
    ['spec.ports[0].port', 'v1alpha1', { ports: [{ port: '80' }] }],
    ['spec.workloadIPs', 'v1beta1', { workloadIPs: [{ ip: '::a' }, { ip: '::b' }, { ip: '::c' }] }],
    ['spec.workloadIPs[0]', 'v1beta1', { workloadIPs: ['192.0.2.1'] }],
    ['spec.meshTLS.identity', 'v1beta1', { meshTLS: { ...IDENTITY, identity: '' } }],
    [
      'spec.meshTls.serverName',
      'v1alpha1',
      { meshTls: { ...IDENTITY, serverName: 'x'.repeat(254) } },
    ],
    ['spec.meshTls.serverName', 'v1alpha1', { meshTls: { identity: 'x' } }],
    ['spec', 'v1beta1', null],
  ])('%s (%s)', async (field, version, spec) => {
    const answer = await api('POST', path(version), workload(version, spec));
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({
      details: { causes: expect.arrayContaining([expect.objectContaining({ field })]) },
    });
  });
});

describe('an identity outlives the version that it was written in', () => {
  test.each<readonly [Version, Version]>([
    ['v1alpha1', 'v1beta1'],
    ['v1beta1', 'v1alpha1'],
  ])('written as %s, read and written as %s', async (written, other) => {
    const name = await create(written, workload(written));
    const seen = (await read(other, name)) as Json;
    expect(seen['spec']).toEqual({ [FIELD[written]]: IDENTITY });
    await apiOk('PUT', path(other, name), {
      ...seen,
      spec: { ...(seen['spec'] as Json), ports: [] },
    });
    expect(await read(written, name)).toMatchObject({
      spec: { [FIELD[written]]: IDENTITY, ports: [] },
    });
  });
});

test('a port without a protocol is TCP', async () => {
  const name = await create('v1beta1', workload('v1beta1', { ports: [{ port: 80 }] }));
  expect(await read('v1beta1', name)).toMatchObject({
    spec: { ports: [{ port: 80, protocol: 'TCP' }] },
  });
});

describe('status', () => {
  const status = { conditions: [READY] };

  test('a v1alpha1 manifest may carry it', async () => {
    const name = await create('v1alpha1', workload('v1alpha1', {}, status));
    expect(await read('v1beta1', name)).toMatchObject({ status });
    expect((await api('GET', `${path('v1alpha1', name)}/status`)).status).toBe(404);
  });

  test.each([[[READY, READY]], [[{ status: 'True' }]], [[{ ...READY, lastProbeTime: null }]]])(
    'conditions may be %j',
    async (conditions) => {
      await create('v1alpha1', workload('v1alpha1', {}, { conditions }));
    },
  );

  test('a condition is True, False or Unknown', async () => {
    const wrong = { conditions: [{ ...READY, status: 'yes' }] };
    const answer = await api('POST', path('v1alpha1'), workload('v1alpha1', {}, wrong));
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body)).toContain('status.conditions[0].status');
  });

  test('in v1beta1 it is a subresource', async () => {
    const name = await create('v1beta1', workload('v1beta1', {}, status));
    expect(await read('v1beta1', name)).not.toHaveProperty('status');
    const patch = { contentType: 'application/merge-patch+json' };
    await apiOk('PATCH', `${path('v1beta1', name)}/status`, { status }, patch);
    await apiOk('PATCH', path('v1beta1', name), { status: { conditions: [] } }, patch);
    expect(await read('v1alpha1', name)).toMatchObject({ status, metadata: { generation: 1 } });
  });
});

test('kubectl get tells identity, addresses and readiness, whatever the version', async () => {
  const ips = [{ ip: '192.0.2.7' }, { ip: '2001:db8::7' }];
  const alpha = await create(
    'v1alpha1',
    workload('v1alpha1', { workloadIPs: ips }, { conditions: [READY] }),
  );
  const beta = await create('v1beta1', workload('v1beta1', { workloadIPs: ips.slice(0, 1) }));
  for (const version of ['v1alpha1', 'v1beta1']) {
    const resource = `externalworkloads.${version}.workload.linkerd.io`;
    const table = await kubectl(['get', '-n', namespace, resource, alpha, beta, '-o', 'wide']);
    const [header, first, second] = table
      .trimEnd()
      .split('\n')
      .map((row) => row.split(/ {2,}/));
    expect(header).toEqual(['NAME', 'IDENTITY', 'IP', 'SECOND IP', 'READY', 'AGE']);
    expect(first?.slice(0, 5)).toEqual([
      alpha,
      IDENTITY.identity,
      '192.0.2.7',
      '2001:db8::7',
      'True',
    ]);
    expect(second?.slice(0, 3)).toEqual([beta, IDENTITY.identity, '192.0.2.7']);
  }
});

describe('whose definition it is', () => {
  test('ours is known by its label, in the manifest and in a cluster', async () => {
    const manifest = loadCrdManifest();
    expect(manifest).toMatchObject({ metadata: { name: CRD_NAME } });
    expect(crdOwner(manifest)).toEqual({ kind: 'tether' });
    const installed = await apiOk(
      'GET',
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${CRD_NAME}`,
    );
    expect(crdOwner(installed)).toEqual({ kind: 'tether' });
    expect(readFileSync(crdManifestPath(), 'utf8')).toContain(CRD_NAME);
  });

  test.each([
    [
      { 'linkerd.io/control-plane-ns': 'linkerd', 'app.kubernetes.io/managed-by': 'Helm' },
      'Linkerd',
    ],
    [{ 'app.kubernetes.io/managed-by': 'Helm' }, 'Helm'],
    [undefined, 'somebody else'],
  ])('%j is not ours but of %s', (labels, name) => {
    expect(crdOwner({ metadata: { labels } })).toEqual({ kind: 'other', name });
  });
});
