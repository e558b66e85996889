import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import type { ApiSecret } from '../../core/api-objects.ts';
import { readClusterSecret } from '../../platform/kube/cluster-secret.ts';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane, type ControlPlane } from '../controlplane/cluster.ts';
import { api, apiOk } from '../support/api.ts';
import { kubectl } from '../support/kubectl.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { runTether } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/*
 * The cluster of the run is the one that is served; another API server, which grants tokens of three
 * hours at most, is linked to it.
 */
const MOST_HOURS = 3;
const POLICY = { allowLoopback: true, allowInsecureTls: false, allowHosts: [] };
const CAN = ['list services', 'watch endpointslices.discovery.k8s.io', 'get services'];
const CANNOT = [
  'list secrets',
  'list pods',
  'create services',
  'delete endpointslices',
  'get nodes',
];
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';

const dir = mkdtempSync(join(tmpdir(), 'tether-link-'));
let controlPlane: ControlPlane | undefined;
let remote = '';
let namespace = '';

beforeAll(async () => {
  namespace = await freshNamespace('link');
  controlPlane = await startControlPlane({
    binaries: await controlPlaneBinaries(),
    dir,
    apiServerFlags: [`--service-account-max-token-expiration=${MOST_HOURS}h`],
  });
  remote = controlPlane.clusters[0]?.kubeconfig ?? '';
});
afterAll(async () => {
  await controlPlane?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Runs `tether link` for the remote cluster, whose address is on the loopback. */
function link(name: string, ...more: string[]): ReturnType<typeof runTether> {
  const given = ['--name', name, '--kubeconfig', remote, '--namespace', namespace];
  return runTether(['link', ...given, '--clusters-allow-loopback', 'true', ...more]);
}

async function secretOf(cluster: string): Promise<ApiSecret> {
  const path = `/api/v1/namespaces/${namespace}/secrets/cluster-credentials-${cluster}`;
  return (await apiOk('GET', path)) as ApiSecret;
}

function kubeconfigOf(secret: ApiSecret): string {
  return Buffer.from(secret.data?.['kubeconfig'] ?? '', 'base64').toString('utf8');
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
}

function tokenOf(secret: ApiSecret): string {
  return (parse(kubeconfigOf(secret)) as Kubeconfig).users[0]?.user['token'] ?? '';
}

/** What of the things asked may be done with the kubeconfig of a Secret. */
async function allowedOf(secret: ApiSecret, asked: readonly string[]): Promise<string[]> {
  const file = join(dir, 'asked.kubeconfig');
  writeFileSync(file, kubeconfigOf(secret), { mode: 0o600 });
  const answers = await Promise.all(
    asked.map(async (what) => {
      const line = ['auth', 'can-i', ...what.split(' '), '--all-namespaces'];
      // `no` is exit code 1.
      const answer = await kubectl(line, '', file).catch(() => 'no');
      return answer.trim() === 'yes' ? [what] : [];
    }),
  );
  return answers.flat();
}

function remoteOk(method: string, path: string, body?: unknown): Promise<unknown> {
  return apiOk(method, path, body, { kubeconfig: remote });
}

/** A kubeconfig of the remote cluster for an account of it that has no rights. */
async function kubeconfigWithoutRights(): Promise<string> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await remoteOk('POST', accounts, { metadata: { name: 'nobody' } });
  const answer = await remoteOk('POST', `${accounts}/nobody/token`, { spec: {} });
  const { token } = (answer as { readonly status: { readonly token: string } }).status;
  const config = parse(readFileSync(remote, 'utf8')) as {
    readonly users: readonly { readonly name: string }[];
  };
  const users = config.users.map(({ name }) => ({ name, user: { token } }));
  const file = join(dir, 'nobody.kubeconfig');
  writeFileSync(file, stringify({ ...config, users }), { mode: 0o600 });
  return file;
}

function expectOneLine(ended: Awaited<ReturnType<typeof runTether>>, code: number, line: RegExp) {
  expect(ended).toMatchObject({ code, stdout: '' });
  expect(ended.stderr).toMatch(line);
  expect(ended.stderr.trimEnd()).not.toContain('\n');
}

describe('what would not work', () => {
  test('because of the policy is refused before anything is written anywhere', async () => {
    const refused = await link('east', '--clusters-allow-loopback', 'false');
    expectOneLine(
      refused,
      1,
      /^tether: no worker would take this: .*server names 127\.0\.0\.1, a loopback address: .*; --server puts another address into the Secret\n$/,
    );
    const account = '/api/v1/namespaces/tether/serviceaccounts/tether-remote';
    expect(await api('GET', account, undefined, { kubeconfig: remote })).toMatchObject({
      status: 404,
    });
    const secrets = await apiOk('GET', `/api/v1/namespaces/${namespace}/secrets`);
    expect(secrets).toMatchObject({ items: [] });
  });

  test.each([
    ['--kubeconfig is missing', '--name east'],
    ['--name is missing', '--kubeconfig x'],
    ['--name "East": expected a name', '--name East --kubeconfig x'],
    ['--token-hours "1d": expected whole hours', '--name e --kubeconfig x --token-hours 1d'],
    ['--server "east:6443": expected a URL', '--name e --kubeconfig x --server east:6443'],
    ['--cluster-domain "": expected a domain', '--name e --kubeconfig x --cluster-domain='],
    ['the kubeconfig /nowhere does not exist', '--name e --kubeconfig /nowhere'],
    ["unknown option '--nam'", '--nam e'],
  ])('is said with exit code 2: %s', async (message, line) => {
    const ended = await runTether(['link', ...line.split(' ')]);
    expectOneLine(ended, 2, /^tether: /);
    expect(ended.stderr).toContain(message);
  });

  test('because the namespace is missing here', async () => {
    const ended = await link('east', '--namespace', 'nowhere');
    expectOneLine(
      ended,
      1,
      /^tether: namespace nowhere is not there on .*: create it, or say with/,
    );
  });

  test('because the account is not there, and is not to be made', async () => {
    const ended = await link('east', '--skip-rbac', '--service-account', 'missing');
    expectOneLine(ended, 1, /serviceaccount tether\/missing is not there on .*: leave out --skip/);
  });

  test('because the user may not grant rights there', async () => {
    const ended = await link('east', '--kubeconfig', await kubeconfigWithoutRights());
    expectOneLine(ended, 1, /403 Forbidden: .*; let an administrator of that cluster apply infra/);
  });
});

describe('a link', () => {
  test('is a Secret that workers accept, with rights to look and no others', async () => {
    const { code, stdout, stderr } = await link('east', '--trust-domain', 'root.east');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const secret = await secretOf('east');
    expect(secret).toMatchObject({
      type: 'mirror.linkerd.io/remote-kubeconfig',
      metadata: {
        labels: { 'multicluster.linkerd.io/cluster-name': 'east' },
        annotations: {
          'multicluster.linkerd.io/trust-domain': 'root.east',
          'multicluster.linkerd.io/cluster-domain': 'cluster.local',
        },
      },
    });
    const content = await readClusterSecret(secret, POLICY);
    expect(content).toMatchObject({ cluster: 'east', trustDomain: 'root.east' });
    expect(content.expiresAt).toBeGreaterThan(Date.now());
    expect(await allowedOf(secret, [...CAN, ...CANNOT])).toEqual(CAN);
    expect(stdout).toContain(`secret ${namespace}/cluster-credentials-east on`);
    expect(stdout).not.toContain(tokenOf(secret));
  });

  test('says for how long the server granted the token', async () => {
    const year = await link('granted');
    expect(year.stdout).toMatch(
      /^the token is valid until \d{4}-\S+Z: the server granted 3 h of the 8760 h asked for; link again before$/m,
    );
    const hours = await link('granted', '--token-hours', '2');
    expect(hours.stdout).toMatch(/^the token is valid until \S+Z, 2 h as asked for$/m);
  });

  test('made again has a new credential; the old one and the rights are as they were', async () => {
    await link('again');
    const before = await secretOf('again');
    const binding = await remoteOk('GET', `${BINDINGS}/tether-remote`);
    const { stdout } = await link('again');
    expect(stdout).toMatch(
      /^secret \S+\/cluster-credentials-again on \S+: its credential was replaced$/m,
    );
    const after = await secretOf('again');
    expect(tokenOf(after)).not.toBe(tokenOf(before));
    expect(await remoteOk('GET', `${BINDINGS}/tether-remote`)).toEqual(binding);
    expect(await allowedOf(before, CAN)).toEqual(CAN);
    expect(await allowedOf(after, CAN)).toEqual(CAN);
  });

  test('printed is YAML for kubectl, and nothing is applied here', async () => {
    const { code, stdout, stderr } = await link('printed', '--print');
    expect(code).toBe(0);
    const secret = parse(stdout) as ApiSecret;
    expect(await allowedOf(secret, CAN)).toEqual(CAN);
    await expect(secretOf('printed')).rejects.toThrow('404');
    expect(stderr).toMatch(/^the token is valid until/m);
    expect(stderr).not.toContain(tokenOf(secret));
    await kubectl(['apply', '-f', '-'], stdout);
    expect(tokenOf(await secretOf('printed'))).toBe(tokenOf(secret));
  });

  test('with another address has that one, tried or not', async () => {
    const own = (parse(readFileSync(remote, 'utf8')) as Kubeconfig).clusters[0]?.cluster['server'];
    const port = new URL(own ?? '').port;
    const answers = await link('there', '--server', `https://127.0.0.1:${port}/`);
    expect(answers.stdout).toMatch(new RegExp(`^127\\.0\\.0\\.1:${port}: answers$`, 'm'));
    expect(kubeconfigOf(await secretOf('there'))).toContain(`server: https://127.0.0.1:${port}\n`);
    const silent = await link('far', '--server', 'https://127.0.0.1:1');
    expect(silent).toMatchObject({ code: 0 });
    expect(silent.stdout).toMatch(/^127\.0\.0\.1:1: could not be tried from here: /m);
    expect(kubeconfigOf(await secretOf('far'))).toContain('server: https://127.0.0.1:1\n');
  });

  test('of an account of its own takes no rights from another', async () => {
    await link('first');
    const account = ['--service-account', 'second', '--remote-namespace', 'links'];
    expect(await link('second', ...account)).toMatchObject({ code: 0 });
    expect(await allowedOf(await secretOf('first'), CAN)).toEqual(CAN);
    expect(await allowedOf(await secretOf('second'), [...CAN, ...CANNOT])).toEqual(CAN);
  });

  test('is refused while the account lacks rights, which are listed', async () => {
    await link('lacking');
    await remoteOk('POST', '/api/v1/namespaces/tether/serviceaccounts', {
      metadata: { name: 'bare' },
    });
    const ended = await link('bare', '--skip-rbac', '--service-account', 'bare');
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(
      /^tether: .* credentials lack rights \(get, list, watch services; .*infra\/rbac\/remote\.yaml$/m,
    );
    await expect(secretOf('bare')).rejects.toThrow('404');
  });

  test('is refused while another Secret has the name', async () => {
    const { stdout } = await link('twice', '--print');
    const secret = parse(stdout) as { metadata: { name: string } };
    secret.metadata.name = 'by-hand';
    await kubectl(['apply', '-f', '-'], stringify(secret));
    expectOneLine(
      await link('twice'),
      1,
      /^tether: secret \S+\/by-hand links a cluster called twice already, .*: delete it, or choose/,
    );
  });

  test('that somebody else edited is overruled by --force alone', async () => {
    await link('edited');
    const name = 'cluster-credentials-edited';
    const patch = ['patch', 'secret', name, '-n', namespace, '--type=merge', '-p'];
    await kubectl([...patch, '{"data":{"kubeconfig":"eA=="}}']);
    const refused = await link('edited');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/others changed fields of it: \.data\.kubeconfig .*; --force/);
    expect(await link('edited', '--force')).toMatchObject({ code: 0 });
    expect(await allowedOf(await secretOf('edited'), CAN)).toEqual(CAN);
  });

  test('goes into the cluster of --local-kubeconfig and --local-context', async () => {
    const local = fromRun('kubeconfig');
    const { contexts } = parse(readFileSync(local, 'utf8')) as {
      readonly contexts: readonly { readonly name: string }[];
    };
    const given = ['--name', 'local', '--kubeconfig', remote, '--namespace', namespace];
    const at = ['--local-kubeconfig', local, '--local-context', contexts[0]?.name ?? ''];
    const line = ['link', ...given, ...at, '--clusters-allow-loopback', 'true'];
    expect(await runTether(line, { env: { KUBECONFIG: '/nowhere' } })).toMatchObject({ code: 0 });
    expect(await allowedOf(await secretOf('local'), CAN)).toEqual(CAN);
    const wrong = await link('local', '--local-context', 'nowhere');
    expectOneLine(wrong, 2, /^tether: kubeconfig .*: there is no context "nowhere"/);
  });

  test('is made with a context of the usual kubeconfig, too', async () => {
    const merged = join(dir, 'renamed.kubeconfig');
    const config = parse(readFileSync(remote, 'utf8')) as { contexts: { name: string }[] };
    config.contexts = config.contexts.map((context) => ({ ...context, name: 'elsewhere' }));
    writeFileSync(merged, stringify({ ...config, 'current-context': '' }), { mode: 0o600 });
    const line = ['link', '--name', 'context', '--context', 'elsewhere', '--print'];
    const allow = ['--clusters-allow-loopback', 'true'];
    const ended = await runTether([...line, ...allow], { env: { KUBECONFIG: merged } });
    expect(ended.code).toBe(0);
    expect(await allowedOf(parse(ended.stdout) as ApiSecret, CAN)).toEqual(CAN);
  });
});
