import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import { createClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { api, apiOk } from '../support/api.ts';
import { roleArgs } from '../support/cluster-rig.ts';
import { kubeconfigOf, partsOfFile, putSecret, secretPath } from '../support/cluster-secrets.ts';
import { eventually } from '../support/eventually.ts';
import { kubectl } from '../support/kubectl.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, endpointsOf } from '../support/objects.ts';
import { runTether, spawnTether } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/*
 * infra/rbac is enough for cluster Secrets: those of one namespace for us, and of the other cluster
 * nothing but what discovery needs (report 115). Without the rights all else works on.
 */

const RBAC = join(import.meta.dirname, '../../infra/rbac');
const GROUP = 'rbac.authorization.k8s.io';
const CLUSTER_BINDINGS = `/apis/${GROUP}/v1/clusterrolebindings`;
const HOME = 'tether';

let dir: string;
let ns: string;
const made: string[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-secret-rights-'));
  ns = await freshNamespace('cs-rights');
  await kubectl(['apply', '-f', RBAC]);
});
afterAll(async () => {
  for (const path of made) await api('DELETE', path);
  rmSync(dir, { recursive: true, force: true });
});

async function tokenOf(namespace: string, name: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const answer = await apiOk('POST', path, { spec: {} });
  return (answer as { readonly status: { readonly token: string } }).status.token;
}

/** A kubeconfig of an account that is bound to the role's ClusterRole, and to nothing else yet. */
async function accountOf(role: string): Promise<string> {
  await apiOk('POST', `/api/v1/namespaces/${ns}/serviceaccounts`, { metadata: { name: role } });
  await bind(CLUSTER_BINDINGS, 'ClusterRole', role);
  const token = await tokenOf(ns, role);
  const path = join(dir, `${role}.kubeconfig`);
  const parts = partsOfFile(fromRun('kubeconfig'));
  writeFileSync(path, kubeconfigOf({ ...parts, user: { token } }), { mode: 0o600 });
  return path;
}

async function bind(at: string, kind: string, role: string): Promise<void> {
  await apiOk('POST', at, {
    metadata: { name: `${ns}-${role}` },
    roleRef: { apiGroup: GROUP, kind, name: `tether-${role}` },
    subjects: [{ kind: 'ServiceAccount', name: role, namespace: ns }],
  });
  made.push(`${at}/${ns}-${role}`);
}

it('without rights on Secrets: one line, the rest goes on; with them Secrets are picked up (report 115)', async () => {
  const prefix = `cs-rights-${process.pid}`;
  const redis = connectRedis(fromRun('redisUrl'), 'producer', { log: silentLogger });
  try {
    await checkRedis(redis, { log: silentLogger });
    const registry = createClusterRegistry(redis, prefix);
    const start = async (role: string, ...args: string[]) =>
      spawnTether([role, ...roleArgs(prefix, HOME), ...args], {
        env: { KUBECONFIG: await accountOf(role) },
      });
    const [watcher, worker] = [await start('watcher', '--namespaces', ns), await start('worker')];
    await Promise.all([watcher, worker].map((one) => one.untilLog(/"msg":"ready"/)));
    const line =
      /cluster Secrets cannot be watched for now; clusters cannot be linked: grant the watcher/;
    await watcher.untilLog(line);

    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await eventually(async () => expect(await endpointsOf(ns, 'web')).toHaveLength(1));

    // The worker's own 403: it says what to grant, and does not come back at once (report 117).
    await runTether(['reconcile', 'cluster', `${HOME}/${ns}`, '--redis-prefix', prefix]);
    const [denied] = await worker.untilLog(/^.*grant the worker's role get on secrets.*$/m);
    const { retryInMs } = JSON.parse(denied) as { readonly retryInMs: number };
    expect(retryInMs).toBeGreaterThanOrEqual(30_000);

    const token = await tokenOf(HOME, 'tether-remote');
    const kubeconfig = kubeconfigOf({ ...partsOfFile(fromRun('kubeconfig')), user: { token } });
    await putSecret({ namespace: HOME, name: ns, cluster: ns, kubeconfig });
    made.push(secretPath(HOME, ns));
    const home = `/apis/${GROUP}/v1/namespaces/${HOME}/rolebindings`;
    for (const role of ['watcher', 'worker']) await bind(home, 'Role', role);
    await eventually(
      async () => {
        const decision = await registry.decision(`${HOME}/${ns}`);
        expect(decision).toMatchObject({ verdict: 'Accepted', cluster: ns });
      },
      { timeoutMs: 50_000 },
    );
    await watcher.untilLog(/cluster Secrets can be watched again/);
    expect(watcher.stdout().match(new RegExp(line, 'g'))).toHaveLength(1);
    // Other namespaces were asked for, and that we may not see them is nobody's problem.
    expect(watcher.stdout()).not.toMatch(/"level":"(warn|error)"[^\n]*secrets of all namespaces/);
  } finally {
    redis.disconnect();
  }
});

it('a namespace that does not exist is told of once, and its Secrets are seen once it does', async () => {
  const name = `cs-later-${process.pid}`;
  const prefix = `cs-later-${process.pid}`;
  const args = roleArgs(prefix, name);
  const watcher = spawnTether(['watcher', '--namespaces', ns, ...args]);
  await watcher.untilLog(new RegExp(`there is no namespace ${name} `));
  await watcher.untilLog(/"msg":"ready"/);
  await apiOk('POST', '/api/v1/namespaces', { metadata: { name } });
  made.push(`/api/v1/namespaces/${name}`);
  const kubeconfig = kubeconfigOf(partsOfFile(fromRun('kubeconfig')));
  await putSecret({ namespace: name, name: 'east', kubeconfig });
  const worker = spawnTether(['worker', ...args]);
  await worker.untilLog(/cluster east is (Syncing|Ready)/);
  expect(watcher.stdout().match(/there is no namespace/g)).toHaveLength(1);
});
