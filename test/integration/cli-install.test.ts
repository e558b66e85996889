import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane, type ControlPlane } from '../controlplane/cluster.ts';
import { api, apiOk } from '../support/api.ts';
import { kubeconfigOf, partsOfFile } from '../support/cluster-secrets.ts';
import { runTether } from '../support/processes.ts';

/** Whether a cluster has the CRD is what this is about, so it has a cluster of its own. */
const NAME = 'externalworkloads.workload.linkerd.io';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const dir = mkdtempSync(join(tmpdir(), 'tether-install-'));
let controlPlane: ControlPlane | undefined;
let kubeconfig = '';

beforeAll(async () => {
  controlPlane = await startControlPlane({ binaries: await controlPlaneBinaries(), dir });
  kubeconfig = controlPlane.clusters[0]?.kubeconfig ?? '';
});
afterAll(async () => {
  await controlPlane?.stop();
  rmSync(dir, { recursive: true, force: true });
});

const tether = (...args: string[]) => runTether(args, { env: { KUBECONFIG: kubeconfig } });

async function removeCrd(): Promise<void> {
  await api('DELETE', `${CRDS}/${NAME}`, undefined, { kubeconfig });
  for (;;) {
    const { status } = await api('GET', `${CRDS}/${NAME}`, undefined, { kubeconfig });
    if (status === 404) return;
  }
}

async function createForeignCrd(version: string): Promise<void> {
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  };
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: NAME, labels: { 'linkerd.io/control-plane-ns': 'linkerd' } },
    spec: {
      group: 'workload.linkerd.io',
      scope: 'Namespaced',
      names: { kind: 'ExternalWorkload', plural: 'externalworkloads' },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
  await apiOk('POST', CRDS, body, { kubeconfig });
}

test('without the CRD other commands say what to do', async () => {
  const line =
    'tether: the cluster does not know ExternalWorkload (workload.linkerd.io/v1beta1): ' +
    'run `tether install`\n';
  expect(await tether('explain', 'default/kubernetes')).toMatchObject({ code: 1, stderr: line });
  expect(await tether('workload', 'ready', 'default/a')).toMatchObject({ code: 1, stderr: line });
});

test('install creates the CRD, which is served at once; again it changes nothing', async () => {
  const first = await tether('install');
  expect(first).toMatchObject({ code: 0, stdout: `${NAME}: created, and served\n`, stderr: '' });
  const list = '/apis/workload.linkerd.io/v1beta1/externalworkloads';
  expect((await api('GET', list, undefined, { kubeconfig })).status).toBe(200);
  const again = await tether('install');
  expect(again).toMatchObject({ code: 0, stdout: `${NAME}: unchanged, and served\n` });
});

/** The kubeconfig of an account that has these rights and no others. */
async function accountWith(name: string, rules: readonly object[]): Promise<string> {
  const rbac = 'rbac.authorization.k8s.io';
  const account = { kind: 'ServiceAccount', name, namespace: 'default' };
  const ref = { apiGroup: rbac, kind: 'ClusterRole', name };
  const roles = `/apis/${rbac}/v1`;
  const metadata = { name };
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await apiOk('POST', accounts, { metadata }, { kubeconfig });
  await apiOk('POST', `${roles}/clusterroles`, { metadata, rules }, { kubeconfig });
  const binding = { metadata, roleRef: ref, subjects: [account] };
  await apiOk('POST', `${roles}/clusterrolebindings`, binding, { kubeconfig });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const made = await apiOk('POST', `${accounts}/${name}/token`, request, { kubeconfig });
  const { token } = (made as { readonly status: { readonly token: string } }).status;
  const file = join(dir, `${name}.kubeconfig`);
  const { cluster } = partsOfFile(kubeconfig);
  writeFileSync(file, kubeconfigOf({ cluster, user: { token } }), { mode: 0o600 });
  return file;
}

test('who may use the kind and not read its definition: nothing is done, and nothing is wrong', async () => {
  const url = new URL('../../infra/rbac/watcher.yaml', import.meta.url);
  const { rules } = parse(readFileSync(url, 'utf8')) as { readonly rules: readonly object[] };
  const env = { KUBECONFIG: await accountWith('watcher', rules) };
  const passed = await runTether(['install'], { env });
  expect(passed).toMatchObject({ code: 0, stderr: '' });
  expect(passed.stdout).toBe(
    `${NAME}: served, and left as it is, as this account may not read its definition\n`,
  );
  const forced = await runTether(['install', '--force'], { env });
  expect(forced.code).toBe(1);
  expect(forced.stderr).toMatch(/^tether: get customresourcedefinition .*403.*\n$/);
});

test('who may do neither is told of the right that is missing', async () => {
  const env = { KUBECONFIG: await accountWith('nobody', []) };
  const { code, stderr } = await runTether(['install'], { env });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^tether: get customresourcedefinition .*403.*\n$/);
});

test('a CRD that Linkerd installed stays as it is, unless told otherwise', async () => {
  await removeCrd();
  await createForeignCrd('v1beta1');
  const left = await tether('install');
  expect(left.code).toBe(0);
  expect(left.stdout).toBe(
    `${NAME}: left as it is, as it belongs to Linkerd; --force takes it over\n`,
  );
  const forced = await tether('install', '--force');
  expect(forced).toMatchObject({ code: 0, stdout: `${NAME}: updated, and served\n` });
});

test('a foreign CRD that does not serve what we read: exit code 1', async () => {
  await removeCrd();
  await createForeignCrd('v1alpha1');
  const { code, stderr } = await tether('install');
  expect(code).toBe(1);
  expect(stderr).toBe('tether: it serves v1alpha1, and Tether needs v1beta1\n');
});

test('no API server: one line that names it, exit code 1', async () => {
  const file = join(dir, 'nobody.kubeconfig');
  const text = readFileSync(kubeconfig, 'utf8');
  writeFileSync(file, text.replace(/server: \S+/, 'server: https://127.0.0.1:1'));
  const { code, stderr } = await runTether(['install'], { env: { KUBECONFIG: file } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/^tether: get customresourcedefinition .*127\.0\.0\.1:1.*\n$/);
});

test('no kubeconfig: one line, exit code 2', async () => {
  const { code, stderr } = await runTether(['install'], { env: { KUBECONFIG: join(dir, 'none') } });
  expect(code).toBe(2);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});
