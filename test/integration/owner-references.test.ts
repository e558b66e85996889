import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane, type ControlPlane } from '../controlplane/cluster.ts';
import { apiOk } from '../support/api.ts';
import { kubeconfigOf, partsOfFile } from '../support/cluster-secrets.ts';
import { eventually } from '../support/eventually.ts';
import { kubectl } from '../support/kubectl.ts';
import { slicesPath } from '../support/objects.ts';
import { spawnTether, type TetherProcess } from '../support/processes.ts';

/*
 * An API server that lets nobody name an owner and block its deletion who may not set the owner's
 * finalizers: the admission plugin OwnerReferencesPermissionEnforcement, which OpenShift has on. The worker
 * has an account of its own there, with the rights of infra/rbac.
 */
const INFRA = join(import.meta.dirname, '../../infra');
const PLUGIN = '--enable-admission-plugins=OwnerReferencesPermissionEnforcement';
const ACCOUNTS = 'accounts';
const RBAC_GROUP = 'rbac.authorization.k8s.io';

interface Rule {
  readonly resources: readonly string[];
}

const { rules: RULES } = parse(readFileSync(join(INFRA, 'rbac/worker.yaml'), 'utf8')) as {
  readonly rules: readonly Rule[];
};
const WITHOUT = RULES.filter(({ resources }) => !resources.includes('services/finalizers'));

let dir: string;
let controlPlane: ControlPlane | undefined;
let admin = '';

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-owner-references-'));
  const binaries = await controlPlaneBinaries();
  controlPlane = await startControlPlane({ binaries, dir, apiServerFlags: [PLUGIN] });
  admin = controlPlane.clusters[0]?.kubeconfig ?? '';
  const crd = join(INFRA, 'crd/externalworkloads.yaml');
  await kubectl(['apply', '--server-side', '-f', crd], '', admin);
  await eventually(() => kubectl(['get', 'externalworkloads', '-A'], '', admin));
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: ACCOUNTS } });
});
afterAll(async () => {
  await controlPlane?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** JSON is YAML. */
async function apply(...items: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await kubectl(['apply', '-f', '-'], list, admin);
}

function roleOf(name: string, rules: readonly Rule[]): object {
  return { apiVersion: `${RBAC_GROUP}/v1`, kind: 'ClusterRole', metadata: { name }, rules };
}

/** An account with these rights and no others; gives the path of its kubeconfig. */
async function accountOf(name: string, rules: readonly Rule[]): Promise<string> {
  const subject = { kind: 'ServiceAccount', name, namespace: ACCOUNTS };
  await apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: ACCOUNTS } },
    roleOf(name, rules),
    {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name },
      subjects: [subject],
    },
  );
  const token = (await kubectl(['create', 'token', name, '-n', ACCOUNTS], '', admin)).trim();
  const { cluster } = partsOfFile(admin);
  const path = join(dir, `${name}.kubeconfig`);
  writeFileSync(path, kubeconfigOf({ cluster, user: { token } }), { mode: 0o600 });
  return path;
}

/** The Service `web` of a namespace, with a workload of this address. */
async function putWeb(namespace: string, ip: string): Promise<void> {
  const of = (name: string): object => ({ name, namespace, labels: { app: 'web' } });
  const ports = [{ name: 'http', port: 8080 }];
  const meshTLS = { identity: 'spiffe://root.example/vm', serverName: 'vm.example' };
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    // First, so that one run of the Service sees all of it.
    {
      apiVersion: 'workload.linkerd.io/v1beta1',
      kind: 'ExternalWorkload',
      metadata: of('vm'),
      spec: { meshTLS, workloadIPs: [{ ip }], ports },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: of('web'),
      spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    },
  );
}

/** A watcher that may everything, and a worker with these rights; each test has a namespace of its name. */
async function serve(name: string, rules: readonly Rule[]): Promise<TetherProcess> {
  const prefix = ['--redis-prefix', `owner-references-${name}-${process.pid}`];
  const start = (args: readonly string[], kubeconfig: string): TetherProcess =>
    spawnTether([...args, ...prefix], { env: { KUBECONFIG: kubeconfig } });
  const worker = start(['worker'], await accountOf(name, rules));
  const watcher = start(['watcher', '--namespaces', name], admin);
  await Promise.all([worker, watcher].map((one) => one.untilLog(/"msg":"ready"/)));
  return worker;
}

interface Slice {
  readonly endpoints: readonly { readonly addresses: readonly string[] }[];
  readonly metadata: { readonly ownerReferences?: readonly object[] };
}

async function slicesIn(namespace: string): Promise<readonly Slice[]> {
  const list = await apiOk('GET', slicesPath(namespace), undefined, { kubeconfig: admin });
  return (list as { readonly items: readonly Slice[] }).items;
}

/** Waits until the one slice of `web` has this address, and blocks the deletion of its owner. */
const servedBecomes = (namespace: string, ip: string): Promise<void> =>
  eventually(async () => {
    const owner = { kind: 'Service', name: 'web', controller: true, blockOwnerDeletion: true };
    expect(await slicesIn(namespace)).toMatchObject([
      { endpoints: [{ addresses: [ip] }], metadata: { ownerReferences: [owner] } },
    ]);
  });

describe('where owner references want a right of their own', () => {
  it('the rights of infra/rbac are enough to write slices with their owner (report 117)', async () => {
    const worker = await serve('enough', RULES);
    await putWeb('enough', '192.0.2.10');
    await servedBecomes('enough', '192.0.2.10');
    await putWeb('enough', '192.0.2.11');
    await servedBecomes('enough', '192.0.2.11');
    expect(worker.stdout()).not.toMatch(/: 403 |[Ff]orbidden/);
  });

  it('without it one line and one Event say what to grant; granted, the next change is written (report 117)', async () => {
    const worker = await serve('lacking', WITHOUT);
    await putWeb('lacking', '192.0.2.10');
    const told =
      /create endpointslice \S+: 403 Forbidden: .*cannot set blockOwnerDeletion .*; grant the worker's role update on services\/finalizers$/;
    const [line] = await worker.untilLog(/^.*"lacking\/web".*cannot set blockOwnerDeletion.*$/m);
    const { msg, level, retryInMs } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    expect({ msg, level }).toEqual({ msg: expect.stringMatching(told), level: 'warn' });
    // Nothing but a person makes this better.
    expect(retryInMs).toBeGreaterThanOrEqual(30_000);
    await eventually(async () => {
      const path = '/api/v1/namespaces/lacking/events';
      const list = await apiOk('GET', path, undefined, { kubeconfig: admin });
      const { items } = list as { readonly items: readonly Readonly<Record<string, unknown>>[] };
      expect(items.map(({ reason, message }) => ({ reason, message }))).toEqual([
        { reason: 'FailedToUpdateEndpointSlices', message: expect.stringMatching(told) },
      ]);
    });
    expect(await slicesIn('lacking')).toEqual([]);
    expect(worker.stdout().match(/cannot set blockOwnerDeletion/g)).toHaveLength(1);

    await apply(roleOf('lacking', RULES));
    let last = 10;
    await eventually(async () => {
      // Rights take a moment to reach the authorizer: each try is another change.
      const ip = `192.0.2.${(last += 1)}`;
      await putWeb('lacking', ip);
      await eventually(async () => expect(await slicesIn('lacking')).toHaveLength(1), {
        timeoutMs: 1_000,
      });
    });
    await servedBecomes('lacking', `192.0.2.${last}`);
  });
});
