import { beforeAll, describe, expect, test } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { runTether, spawnTether } from '../support/processes.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly lastTransitionTime: string;
}

let namespace = '';
beforeAll(async () => {
  namespace = await freshNamespace('cli-workload');
});

function workloadsPath(version = 'v1beta1'): string {
  return `/apis/workload.linkerd.io/${version}/namespaces/${namespace}/externalworkloads`;
}

async function createWorkload(name: string, version: 'v1alpha1' | 'v1beta1' = 'v1beta1') {
  const tls = { identity: `spiffe://x/${name}`, serverName: `${name}.local` };
  const made = await apiOk('POST', workloadsPath(version), {
    apiVersion: `workload.linkerd.io/${version}`,
    kind: 'ExternalWorkload',
    metadata: { name, labels: { app: name } },
    spec: {
      [version === 'v1beta1' ? 'meshTLS' : 'meshTls']: tls,
      workloadIPs: [{ ip: '192.0.2.7' }],
      ports: [{ name: 'http', port: 80 }],
    },
  });
  return made as { metadata: { uid: string; resourceVersion: string } };
}

async function readWorkload(name: string) {
  const read = await apiOk('GET', `${workloadsPath()}/${name}`);
  return read as {
    metadata: { resourceVersion: string };
    spec: { meshTls?: object };
    status?: { conditions: readonly Condition[] };
  };
}

async function createSlice(name: string, service: string, workload: string, uid: string) {
  await apiOk('POST', `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    ports: [],
    endpoints: [
      {
        addresses: ['192.0.2.7'],
        conditions: { ready: true },
        targetRef: { kind: 'ExternalWorkload', namespace, name: workload, uid },
      },
    ],
  });
}

describe('workload ready and unready', () => {
  test.each(['v1alpha1', 'v1beta1'] as const)('a workload written as %s', async (version) => {
    const name = `flips-${version}`;
    await createWorkload(name, version);

    const first = await runTether(['workload', 'ready', `${namespace}/${name}`]);
    expect(first).toMatchObject({
      code: 0,
      stdout: `externalworkload ${namespace}/${name}: ready\n`,
      stderr: '',
    });
    const ready = await readWorkload(name);
    expect(ready.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'True', reason: 'SetReady' },
    ]);
    expect(ready.spec.meshTls !== undefined).toBe(version === 'v1alpha1');

    const again = await runTether(['workload', 'ready', `${namespace}/${name}`]);
    expect(again.stdout).toContain('already ready');
    expect((await readWorkload(name)).metadata).toEqual(ready.metadata);

    await runTether(['workload', 'unready', `${namespace}/${name}`]);
    expect((await readWorkload(name)).status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'SetUnready' },
    ]);
  });

  test('a workload that is not there: one line, exit code 1', async () => {
    const { code, stderr } = await runTether(['workload', 'ready', `${namespace}/nobody`]);
    expect(code).toBe(1);
    expect(stderr).toBe(`tether: there is no ExternalWorkload ${namespace}/nobody\n`);
  });

  test('a key that is none: one line, exit code 2', async () => {
    const { code, stderr } = await runTether(['workload', 'ready', 'Nobody']);
    expect(code).toBe(2);
    expect(stderr).toBe(
      'tether: "Nobody" is not a key: write it as NAMESPACE/NAME, both Kubernetes names\n',
    );
  });
});

describe('workload drain', () => {
  test('waits until no slice offers the workload', async () => {
    const { metadata } = await createWorkload('drains');
    await createSlice('drains-1', 'svc', 'drains', metadata.uid);
    const drain = spawnTether(['workload', 'drain', `${namespace}/drains`]);
    await drain.untilLog(/: draining/);
    expect((await readWorkload('drains')).status?.conditions).toMatchObject([
      { status: 'False', reason: 'Draining' },
    ]);
    const slice = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/drains-1`;
    await apiOk('DELETE', slice);
    expect((await drain.exited).code).toBe(0);
    expect(drain.stdout()).toContain('drained, no EndpointSlice offers it');
  });

  test('says which slices still offer it when the time is over', async () => {
    const { metadata } = await createWorkload('stays');
    await createSlice('stays-1', 'svc', 'stays', metadata.uid);
    const args = ['workload', 'drain', `${namespace}/stays`, '--timeout', '1'];
    const { code, stderr } = await runTether(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(/after 1 s these EndpointSlices still offer it: stays-1 \(of svc\)/);
  });

  test('does not wait for a Service that publishes not-ready addresses', async () => {
    const { metadata } = await createWorkload('published');
    await apiOk('POST', `/api/v1/namespaces/${namespace}/services`, {
      metadata: { name: 'publisher' },
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { app: 'published' } },
    });
    await createSlice('published-1', 'publisher', 'published', metadata.uid);
    const { code, stdout } = await runTether(['workload', 'drain', `${namespace}/published`]);
    expect(code).toBe(0);
    expect(stdout).toContain('publisher publishes not-ready addresses');
    expect(stdout).toContain('drained, no other EndpointSlice offers it');
  });

  test('SIGINT ends the waiting', async () => {
    const { metadata } = await createWorkload('stopped');
    await createSlice('stopped-1', 'svc', 'stopped', metadata.uid);
    const drain = spawnTether(['workload', 'drain', `${namespace}/stopped`]);
    await drain.untilLog(/: draining/);
    process.kill(drain.pid, 'SIGINT');
    expect((await drain.exited).code).toBe(130);
    expect(drain.stderr()).toBe('');
  });
});
