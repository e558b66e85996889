import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { api, apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { kubectl } from '../support/kubectl.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  nameOf,
  remove,
  servicePath,
  setReady,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/*
 * infra/rbac: each role runs as a service account that has exactly the rights of its file, with a
 * token of TokenRequest; and one that lacks a right says which.
 */
const RBAC = join(import.meta.dirname, '../../infra/rbac');
const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
const SECRET_BINDINGS = '/apis/rbac.authorization.k8s.io/v1/namespaces/tether/rolebindings';

let dir: string;
let ns: string;
const made: string[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-rights-'));
  ns = await freshNamespace('rights');
  await kubectl(['apply', '-f', RBAC]);
});
afterAll(async () => {
  for (const path of made) await api('DELETE', path);
  rmSync(dir, { recursive: true, force: true });
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

function rulesOf(role: 'watcher' | 'worker'): readonly Rule[] {
  const file = parse(readFileSync(join(RBAC, `${role}.yaml`), 'utf8')) as { rules: Rule[] };
  return file.rules;
}

/** The rules without one verb on one resource. */
function without(rules: readonly Rule[], resource: string, verb: string): readonly Rule[] {
  return rules.map((rule) =>
    rule.resources.includes(resource)
      ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) }
      : rule,
  );
}

/** Binds an account to a role; `at` is the collection of the bindings. */
async function bind(at: string, name: string, kind: string, role: string): Promise<void> {
  await apiOk('POST', at, {
    metadata: { name: `${ns}-${name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace: ns }],
  });
  made.push(`${at}/${ns}-${name}`);
}

/** A service account bound to a ClusterRole; gives the path of its kubeconfig. */
async function accountWith(name: string, role: string): Promise<string> {
  const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`;
  await apiOk('POST', accounts, { metadata: { name } });
  await bind(BINDINGS, name, 'ClusterRole', role);
  const answer = await apiOk('POST', `${accounts}/${name}/token`, { spec: {} });
  const { token } = (answer as { readonly status: { readonly token: string } }).status;
  const config = parse(readFileSync(fromRun('kubeconfig'), 'utf8')) as {
    readonly users: readonly { readonly name: string }[];
  };
  const users = config.users.map((user) => ({ name: user.name, user: { token } }));
  const path = join(dir, `${name}.kubeconfig`);
  writeFileSync(path, stringify({ ...config, users }), { mode: 0o600 });
  return path;
}

/** With all rights of infra/rbac, those on cluster Secrets too. */
async function accountFor(name: string, role: 'watcher' | 'worker'): Promise<string> {
  const account = await accountWith(name, `tether-${role}`);
  await bind(SECRET_BINDINGS, name, 'Role', `tether-${role}`);
  return account;
}

/** As above, with a role made of these rules. */
async function accountOf(name: string, rules: readonly Rule[]): Promise<string> {
  const role = `${ns}-${name}`;
  await apiOk('POST', ROLES, { metadata: { name: role }, rules });
  made.push(`${ROLES}/${role}`);
  return accountWith(name, role);
}

const setRules = (name: string, rules: readonly Rule[]): Promise<unknown> =>
  mergePatch(`${ROLES}/${ns}-${name}`, { rules });

function start(role: 'watcher' | 'worker', kubeconfig: string, prefix: string): TetherProcess {
  const filter = role === 'watcher' ? ['--namespaces', ns] : [];
  const env = { KUBECONFIG: kubeconfig };
  return spawnTether([role, '--redis-prefix', prefix, ...filter], { env });
}

const prefixOf = (test: string): string => `rights-${test}-${process.pid}`;

/** What a process answers on its metrics port. */
async function served(process: TetherProcess, path: string): Promise<[number, string]> {
  const [, url] = await process.untilLog(/"url":"(http:[^"]+)"/);
  const answer = await fetch(`${url}${path}`, { headers: { connection: 'close' } });
  return [answer.status, await answer.text()];
}

const endpointsBecome = (service: string, expected: readonly string[]): Promise<void> =>
  eventually(async () => expect(await endpointsOf(ns, service)).toEqual(expected));

describe('infra/rbac', () => {
  it('is enough for the whole path', async () => {
    const prefix = prefixOf('enough');
    const watcher = start('watcher', await accountFor('watcher', 'watcher'), prefix);
    const worker = start('worker', await accountFor('worker', 'worker'), prefix);
    await worker.untilLog(/"ready"/);
    await watcher.untilLog(/"ready"/);

    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await endpointsBecome('web', ['192.0.2.10 8080 ready']);
    await setReady(ns, 'vm', false);
    await endpointsBecome('web', ['192.0.2.10 8080 not-ready']);
    // Deleted by hand: made again. Edited by hand: a conflict, a live read, and put right.
    const [slice] = await slicesOf(ns, 'web');
    await remove(slicesPath(ns, nameOf(slice ?? {})));
    await endpointsBecome('web', ['192.0.2.10 8080 not-ready']);
    const [again] = await slicesOf(ns, 'web');
    await mergePatch(slicesPath(ns, nameOf(again ?? {})), { endpoints: [] });
    await endpointsBecome('web', ['192.0.2.10 8080 not-ready']);
    // An Event on the workload.
    await createWorkload(ns, 'bad', 'web', { ips: ['127.0.0.1'] });
    await eventually(async () => {
      const events = await apiOk('GET', `/api/v1/namespaces/${ns}/events`);
      expect(JSON.stringify(events)).toContain('"AddressRefused"');
    });
    // Deleting a slice.
    await mergePatch(servicePath(ns, 'web'), { spec: { selector: null } });
    await eventually(async () => expect(await slicesOf(ns, 'web')).toEqual([]));
    // On demand everything is read live.
    const reconcile = ['reconcile', 'service', `${ns}/web`, '--wait', '--redis-prefix', prefix];
    expect((await runTether(reconcile)).code).toBe(0);

    expect(watcher.stdout() + worker.stdout()).not.toMatch(/: 403 |[Ff]orbidden|no right/);
    await remove(servicePath(ns, 'web'));
  });

  it('lets the watcher tell the owner of a Service of another writer of its slices', async () => {
    await createService(ns, 'shared');
    await apiOk('POST', slicesPath(ns), {
      metadata: {
        name: 'by-another',
        labels: {
          'kubernetes.io/service-name': 'shared',
          'endpointslice.kubernetes.io/managed-by': 'another',
        },
      },
      addressType: 'IPv4',
      endpoints: [],
    });
    const kubeconfig = await accountWith('telling', 'tether-watcher');
    const watcher = start('watcher', kubeconfig, prefixOf('telling'));
    await watcher.untilLog(/"ready"/);
    await eventually(
      async () => {
        const events = await apiOk('GET', `/api/v1/namespaces/${ns}/events`);
        expect(JSON.stringify(events)).toContain('"SeveralEndpointSliceManagers"');
      },
      { timeoutMs: 5_000 },
    );
  });

  const DENIED = {
    watcher: ['create endpointslices', 'delete endpointslices', 'update externalworkloads'],
    worker: [
      'watch endpointslices',
      // Both are listed, never read one by one.
      'get endpointslices',
      'get externalworkloads',
      'update services',
      'deletecollection endpointslices',
    ],
  } as const;
  const NOBODY = ['get secrets', 'list secrets', 'list pods', 'delete services', 'create pods'];

  it.each(['watcher', 'worker'] as const)('gives the %s no more than it needs', async (role) => {
    const account = await accountFor(`few-${role}`, role);
    const can = async (what: string): Promise<boolean> => {
      const answer = kubectl(['auth', 'can-i', ...what.split(' '), '-n', ns], '', account);
      // `no` is exit code 1.
      return (await answer.catch(() => 'no')).trim() === 'yes';
    };
    for (const what of [...DENIED[role], ...NOBODY]) {
      expect({ what, allowed: await can(what) }).toEqual({ what, allowed: false });
    }
    expect(await can('list endpointslices')).toBe(true);
  });
});

describe('a missing right', () => {
  it('of any kind at the start of a role: one sentence, exit code 1', async () => {
    const env = { KUBECONFIG: await accountOf('nothing', []) };
    for (const role of ['watcher', 'worker', 'up']) {
      const { code, stderr, stdout } = await runTether([role], { env });
      expect({ role, code }).toEqual({ role, code: 1 });
      expect(stdout + stderr).not.toMatch(/^ +at |"stack"/m);
      expect(stderr).toMatch(
        /^tether: get namespace kube-system: 403 Forbidden: .* cannot get resource "namespaces" .*\n$/,
      );
    }
  });

  it('of a command: one sentence with verb and resource', async () => {
    const env = { KUBECONFIG: await accountOf('none', []) };
    const cases = [
      ['explain', `${ns}/web`],
      ['workload', 'ready', `${ns}/vm`],
      ['install'],
      ['resync'],
    ];
    for (const line of cases) {
      const { code, stderr } = await runTether(line, { env });
      expect(code).toBe(1);
      expect(stderr).toMatch(/^tether: (get|list) .*: 403 Forbidden: .* cannot \1 resource "\w+"/);
      expect(stderr.trimEnd()).not.toContain('\n');
    }
  });

  it('of the watcher: its log says verb and resource, it is not ready; it goes on once the right is there', async () => {
    const rules = rulesOf('watcher');
    const account = await accountOf('no-list', without(rules, 'externalworkloads', 'list'));
    const watcher = start('watcher', account, prefixOf('no-list'));
    const [line] = await watcher.untilLog(/^.*"list and watch will be tried again".*$/m);
    expect(line).toMatch(
      /list externalworkloads: 403 .* cannot list resource \\"externalworkloads\\"/,
    );
    expect(watcher.stdout()).not.toContain('"ready"');
    const [status, checks] = await served(watcher, '/readyz');
    expect(status).toBe(503);
    expect(JSON.parse(checks)).toMatchObject({
      checks: { view: { ok: false, detail: 'not all kinds were listed yet' } },
    });
    await setRules('no-list', rules);
    await watcher.untilLog(/"ready"/, 45_000);
    expect((await served(watcher, '/readyz'))[0]).toBe(200);
  });

  it('of the worker: log, Event and metric say verb and resource; the next change after the grant is written', async () => {
    const prefix = prefixOf('no-create');
    const rules = rulesOf('worker');
    const account = await accountOf('no-create', without(rules, 'endpointslices', 'create'));
    start('watcher', fromRun('kubeconfig'), prefix);
    const worker = start('worker', account, prefix);
    await worker.untilLog(/"ready"/);
    await createService(ns, 'denied');
    await createWorkload(ns, 'vm-denied', 'denied', { ips: ['192.0.2.77'] });
    const message =
      /create endpointslice \S+: 403 Forbidden: .* cannot create resource \\"endpointslices\\".*; grant the worker's role that verb on endpointslices/;
    const [line] = await worker.untilLog(
      new RegExp(`^.*"${ns}/denied".*${message.source}.*$`, 'm'),
    );
    expect(line).toContain('"level":"warn"');
    const { retryInMs } = JSON.parse(line) as { readonly retryInMs: number };
    expect(retryInMs).toBeGreaterThanOrEqual(30_000);
    await eventually(async () => {
      const events = (await apiOk('GET', `/api/v1/namespaces/${ns}/events`)) as {
        readonly items: readonly {
          readonly reason: string;
          readonly message: string;
          readonly involvedObject: { readonly kind: string; readonly name: string };
        }[];
      };
      const told = events.items.filter(({ involvedObject }) => involvedObject.name === 'denied');
      expect(told.map(({ reason }) => reason)).toContain('FailedToUpdateEndpointSlices');
      expect(told[0]?.message).toContain('cannot create resource "endpointslices"');
    });
    // What the alert TetherWritesRefused looks at.
    const [, metrics] = await served(worker, '/metrics');
    expect(metrics).toMatch(/^tether_slice_writes_total\{verb="create",result="refused"\} [1-9]/m);

    await setRules('no-create', rules);
    await eventually(async () => {
      // Rights take a moment to reach the authorizer: each try is another change.
      const spec = { workloadIPs: [{ ip: `192.0.2.${100 + Math.floor(Math.random() * 100)}` }] };
      await mergePatch(workloadPath(ns, 'vm-denied'), { spec });
      await eventually(async () => expect(await endpointsOf(ns, 'denied')).toHaveLength(1), {
        timeoutMs: 1_000,
      });
    });
  });
});
