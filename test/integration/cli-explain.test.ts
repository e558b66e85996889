import { beforeAll, expect, test } from '@jest/globals';
import { apiOk } from '../support/api.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { runTether } from '../support/processes.ts';

let namespace = '';
beforeAll(async () => {
  namespace = await freshNamespace('cli-explain');
  await apiOk('POST', `/api/v1/namespaces/${namespace}/services`, {
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  });
  await createWorkload('good', { app: 'web' }, '192.0.2.1', 'http');
  await createWorkload('other', { app: 'db' }, '192.0.2.2', 'http');
  await createWorkload('portless', { app: 'web' }, '192.0.2.3', 'admin');
  await apiOk('POST', `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'web-mirror',
      labels: {
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'linkerd-external-workloads-controller',
      },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'] }],
  });
});

async function createWorkload(
  name: string,
  labels: Record<string, string>,
  ip: string,
  port: string,
) {
  await apiOk(
    'POST',
    `/apis/workload.linkerd.io/v1beta1/namespaces/${namespace}/externalworkloads`,
    {
      apiVersion: 'workload.linkerd.io/v1beta1',
      kind: 'ExternalWorkload',
      metadata: { name, labels },
      spec: {
        meshTLS: { identity: 'spiffe://x/y', serverName: 'y.local' },
        workloadIPs: [{ ip }],
        ports: [{ name: port, port: 80 }],
      },
    },
  );
}

test('each workload of the namespace, in or out and why; slices of others by name', async () => {
  const { code, stdout, stderr } = await runTether(['explain', `${namespace}/web`]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`Service ${namespace}/web: ClusterIP, selector app=web`);
  expect(stdout).toMatch(/^good +in +no +.*192\.0\.2\.1/m);
  expect(stdout).toMatch(/^other +out +- +.*app/m);
  expect(stdout).toMatch(/^portless +out +- +.*http/m);
  expect(stdout).toMatch(/^web-mirror +linkerd-external-workloads-controller +IPv4 +1 +1$/m);
  expect(stdout).toContain('not yet as they should be: 1 write due');
});

test('the same as JSON', async () => {
  const { stdout } = await runTether(['explain', `${namespace}/web`, '-o', 'json']);
  expect(JSON.parse(stdout)).toMatchObject({
    service: `${namespace}/web`,
    exists: true,
    noSlicesBecause: null,
    workloads: [
      { workload: 'good', included: true, ready: false, addresses: ['192.0.2.1'] },
      { workload: 'other', included: false, leftOut: [{ reason: 'selector-mismatch' }] },
      { workload: 'portless', included: false, leftOut: [{ reason: 'no-port-resolves' }] },
    ],
    slices: expect.arrayContaining([
      expect.objectContaining({
        name: 'web-mirror',
        ours: false,
        manager: 'linkerd-external-workloads-controller',
      }),
    ]),
    writesDue: 1,
  });
});

test('heeds the options of the planner', async () => {
  const args = ['explain', `${namespace}/web`, '--workloads-without-status', 'ready'];
  expect((await runTether(args)).stdout).toMatch(/^good +in +yes/m);
});

test('a Service that is not there: exit code 1, and what would become of its slices', async () => {
  const { code, stdout } = await runTether(['explain', `${namespace}/none`]);
  expect(code).toBe(1);
  expect(stdout).toContain(`Service ${namespace}/none: not there`);
});
