import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiObject } from '../../core/api-objects.ts';
import { CRD_NAME } from '../../platform/kube/crd.ts';
import { CHART, helm, type HelmResult } from '../helm/helm.ts';
import { api, apiOk } from '../support/api.ts';
import { kubeconfigOf, partsOfFile, putSecret } from '../support/cluster-secrets.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  exists,
  nameOf,
  remove,
  setReady,
  slicesOf,
  slicesPath,
} from '../support/objects.ts';
import { complaintsOf, spawnTether, type TetherProcess } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/*
 * The chart, installed by helm into a real API server. No kubelet runs its Pods: each role runs as a process
 * with the arguments and variables of its Pod, and a token of its account.
 */
const ROLES = ['watcher', 'worker', 'lookup'] as const;
type Role = (typeof ROLES)[number];
const CRD_PATH = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${CRD_NAME}`;
const TOKEN = 'the-token-of-look-ups';
const BUILD_MS = 600_000;

let dir: string;
let ns: string;
let crdBefore: ApiObject;
let installed: HelmResult;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-helm-install-'));
  ns = await freshNamespace('helm-install');
  crdBefore = (await apiOk('GET', CRD_PATH)) as ApiObject;
  writeFileSync(join(dir, 'token'), TOKEN, { mode: 0o600 });
  installed = await runHelm('install', 'tether', CHART, ...values());
}, BUILD_MS);

afterAll(async () => {
  // Cluster roles do not go with the namespace.
  await runHelm('uninstall', 'tether');
  rmSync(dir, { recursive: true, force: true });
});

const runHelm = (...args: string[]): Promise<HelmResult> =>
  helm([...args, '--namespace', ns], fromRun('kubeconfig'));

/** Another install on the same API server and Redis must not be met. */
function values(...more: readonly string[]): string[] {
  const sets = [
    `fullnameOverride=${ns}`,
    `config.redisPrefix=${ns}`,
    `config.namespaces={${ns}}`,
    // The other cluster of this test is this one.
    'config.clustersAllowLoopback=true',
    ...more,
  ];
  return sets.flatMap((set) => ['--set', set]);
}

interface Deployment extends ApiObject {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string;
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
        }[];
      };
    };
  };
}

const deployment = async (role: Role): Promise<Deployment> =>
  (await apiOk('GET', `/apis/apps/v1/namespaces/${ns}/deployments/${ns}-${role}`)) as Deployment;

async function tokenOf(account: string): Promise<string> {
  const path = `/api/v1/namespaces/${ns}/serviceaccounts/${account}/token`;
  const answer = await apiOk('POST', path, { spec: {} });
  return (answer as { readonly status: { readonly token: string } }).status.token;
}

/** Starts what the container of a role would run, as its account. */
async function startAsPod(role: Role): Promise<TetherProcess> {
  const { spec: pod } = (await deployment(role)).spec.template;
  const [container] = pod.containers;
  const env = (container?.env ?? []).flatMap(({ name, value }) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const kubeconfig = join(dir, `${role}.kubeconfig`);
  const { cluster } = partsOfFile(fromRun('kubeconfig'));
  const user = { token: await tokenOf(pod.serviceAccountName) };
  writeFileSync(kubeconfig, kubeconfigOf({ cluster, user }), { mode: 0o600 });
  return spawnTether(container?.args ?? [], {
    lifetime: 'file',
    env: {
      ...Object.fromEntries(env),
      // What a Pod has and this machine does not: mounted Secrets, and ports that are free for sure.
      KUBECONFIG: kubeconfig,
      TETHER_HTTP_PORT: '0',
      ...(role === 'lookup'
        ? { TETHER_LOOKUP_ADDR: '127.0.0.1:0', TETHER_LOOKUP_TOKEN_FILE: join(dir, 'token') }
        : {}),
    },
  });
}

const endpointsBecome = (expected: readonly string[]): Promise<void> =>
  eventually(async () => expect(await endpointsOf(ns, 'web')).toEqual(expected));

/** One series of what a process shows to Prometheus. */
async function seriesOf(process: TetherProcess, series: string): Promise<number> {
  const [, url] = await process.untilLog(/"url":"(http:[^"]+)"/);
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}

describe('helm install', () => {
  let watcher: TetherProcess;

  it('says what it waits for, and leaves a CRD that is there alone', async () => {
    expect(installed).toMatchObject({ code: 0 });
    expect(installed.stdout).toContain(`create secret generic tether-redis --from-literal=url=`);
    expect(installed.stdout).toContain(`rollout status deployment/${ns}-watcher`);
    const crd = (await apiOk('GET', CRD_PATH)) as ApiObject;
    expect(crd.metadata?.uid).toBe(crdBefore.metadata?.uid);
    expect(crd.metadata?.labels).toEqual(crdBefore.metadata?.labels);
    // The same content written once more would show here alone.
    const { managedFields } = crd.metadata as {
      readonly managedFields: readonly { readonly manager: string }[];
    };
    expect(managedFields.map(({ manager }) => manager)).not.toContain('helm');
  });

  it('makes watchers that tell, without a worker, that one is wanted', async () => {
    watcher = await startAsPod('watcher');
    await watcher.untilLog(/"msg":"ready"/);
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    // What KEDA's questions add up to.
    await eventually(async () => {
      expect(await seriesOf(watcher, 'workqueue_depth{name="service"}')).toBeGreaterThan(0);
      expect(
        await seriesOf(watcher, 'tether_queue_oldest_seconds{name="service"}'),
      ).toBeGreaterThan(0);
    });
  });

  it('makes accounts that may do all of the work: slices, Events, linked clusters', async () => {
    const [worker, lookup] = await Promise.all([startAsPod('worker'), startAsPod('lookup')]);
    for (const one of [worker, lookup]) await one.untilLog(/"msg":"ready"/);

    await endpointsBecome(['192.0.2.10 8080 ready']);
    await setReady(ns, 'vm', false);
    await endpointsBecome(['192.0.2.10 8080 not-ready']);
    const [slice] = await slicesOf(ns, 'web');
    await remove(slicesPath(ns, nameOf(slice ?? {})));
    await endpointsBecome(['192.0.2.10 8080 not-ready']);
    await createWorkload(ns, 'bad', 'web', { ips: ['127.0.0.1'] });
    await eventually(async () => {
      const events = await apiOk('GET', `/api/v1/namespaces/${ns}/events`);
      expect(JSON.stringify(events)).toContain('"AddressRefused"');
    });

    // A cluster is linked by a Secret of the release's namespace, and looked up with the token.
    await putSecret({
      namespace: ns,
      kubeconfig: kubeconfigOf(partsOfFile(fromRun('kubeconfig'))),
    });
    const [, url] = await lookup.untilLog(/"lookupUrl":"([^"]+)"/);
    const path = `${url}/v1/clusters/east/services/${ns}/web/endpoints`;
    expect((await fetch(path)).status).toBe(401);
    await eventually(async () => {
      const answer = await fetch(path, { headers: { authorization: `Bearer ${TOKEN}` } });
      expect(await answer.json()).toMatchObject({
        state: 'Ready',
        endpoints: [{ address: '192.0.2.10' }],
      });
    });
    const log = [watcher, worker, lookup].map((one) => one.stdout()).join('');
    expect(log).not.toMatch(/: 403 |[Ff]orbidden|no right/);
    expect(complaintsOf(lookup)).toEqual([]);
    await eventually(async () =>
      expect(await seriesOf(watcher, 'workqueue_depth{name="service"}')).toBe(0),
    );
  });
});

describe('an account of the chart', () => {
  const slices = (at: string) => `/apis/discovery.k8s.io/v1/namespaces/${at}/endpointslices`;
  const secrets = (at: string) => `/api/v1/namespaces/${at}/secrets`;
  const DENIED: Record<Role, (() => readonly [method: string, path: string])[]> = {
    watcher: [
      () => ['POST', slices(ns)],
      () => ['DELETE', `${slices(ns)}/any`],
      () => ['POST', secrets(ns)],
      () => ['GET', secrets('default')],
      () => ['GET', `${secrets('kube-system')}/any`],
      () => ['GET', `/api/v1/namespaces/${ns}/pods`],
      () => ['GET', '/api/v1/namespaces/default'],
      () => ['PUT', `/apis/workload.linkerd.io/v1beta1/namespaces/${ns}/externalworkloads/vm`],
    ],
    worker: [
      () => ['DELETE', slices(ns)],
      () => ['GET', `${slices(ns)}?watch=true`],
      () => ['PATCH', `${slices(ns)}/any`],
      () => ['GET', secrets(ns)],
      () => ['GET', `${secrets('default')}/any`],
      () => ['PUT', `/api/v1/namespaces/${ns}/services/web`],
      () => ['GET', `/api/v1/namespaces/${ns}/services`],
    ],
    lookup: [
      () => ['GET', `/api/v1/namespaces/${ns}/services/web`],
      () => ['GET', slices(ns)],
      () => ['GET', `${secrets(ns)}/east`],
    ],
  };

  it.each(ROLES)('is denied whatever its role does not need: %s', async (role) => {
    const token = await tokenOf(`${ns}-${role}`);
    for (const request of DENIED[role]) {
      const [method, path] = request();
      const { status } = await api(method, path, method === 'GET' ? undefined : {}, { token });
      expect({ role, method, path, status }).toEqual({ role, method, path, status: 403 });
    }
    // Not because of the token itself.
    const who = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const answer = await api('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', who, {
      token,
    });
    expect(answer).toMatchObject({
      status: 201,
      body: { status: { userInfo: { username: `system:serviceaccount:${ns}:${ns}-${role}` } } },
    });
  });
});

describe('helm upgrade and uninstall', () => {
  it('change what is asked for, and take away all but the CRD and what users made', async () => {
    const more = values('watcher.replicas=3', 'lookup.enabled=false');
    expect(await runHelm('upgrade', 'tether', CHART, ...more)).toMatchObject({ code: 0 });
    expect((await deployment('watcher')).spec.replicas).toBe(3);
    const lookup = `/apis/apps/v1/namespaces/${ns}/deployments/${ns}-lookup`;
    await eventually(async () => expect(await exists(lookup)).toBe(false));

    expect(await runHelm('uninstall', 'tether')).toMatchObject({ code: 0 });
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    for (const role of ['watcher', 'worker']) {
      const path = `/apis/apps/v1/namespaces/${ns}/deployments/${ns}-${role}`;
      await eventually(async () => expect(await exists(path)).toBe(false));
      expect(await exists(`${roles}/${ns}-${role}`)).toBe(false);
    }
    expect(((await apiOk('GET', CRD_PATH)) as ApiObject).metadata?.uid).toBe(
      crdBefore.metadata?.uid,
    );
    const workload = `/apis/workload.linkerd.io/v1beta1/namespaces/${ns}/externalworkloads/vm`;
    expect(await exists(workload)).toBe(true);
  });
});
