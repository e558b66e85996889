import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { loadKubeConfig } from '../../../platform/kube/kubeconfig.ts';
import { inClusterAccess } from '../../../platform/kube/in-cluster.ts';
import { parseKubeConfig, selectContext } from '../../../platform/kube/kubeconfig-parse.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
const base64 = (text: string) => Buffer.from(text).toString('base64');
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tether-kubeconfig-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function file(name: string, content: string | object): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

interface Parts {
  readonly name?: string;
  readonly server?: string;
  readonly cluster?: object;
  readonly user?: object;
  readonly current?: string;
}

/** A kubeconfig with one of everything, called `name`. */
function config({
  name = 'one',
  server = 'https://one:6443',
  cluster,
  user,
  current = name,
}: Parts = {}) {
  return {
    'current-context': current,
    clusters: [{ name, cluster: { server, ...cluster } }],
    users: [{ name, user: user ?? { token: `token-${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace: `ns-${name}` } }],
  };
}

describe('which file', () => {
  test('the given path, before all others', async () => {
    const path = await file('given', config());
    const other = await file('other', config({ name: 'two' }));
    const access = await loadKubeConfig({ path, env: { KUBECONFIG: other } });
    expect(access).toMatchObject({
      server: 'https://one:6443',
      namespace: 'ns-one',
      insecure: false,
    });
    expect(await access.credentials.authorization()).toBe('Bearer token-one');
  });

  test('the files of KUBECONFIG, merged: the first to name something wins, missing ones are passed over', async () => {
    const first = await file('1', { ...config({ current: '' }), users: [] });
    const second = await file('2', {
      ...config({ server: 'https://not-this' }),
      'current-context': 'one',
    });
    const paths = [first, join(folder, 'missing'), '', second].join(delimiter);
    const access = await loadKubeConfig({ env: { KUBECONFIG: paths, HOME: '/nowhere' } });
    expect(access.server).toBe('https://one:6443');
    expect(await access.credentials.authorization()).toBe('Bearer token-one');
  });

  test('~/.kube/config, when KUBECONFIG is not set', async () => {
    await file('.kube/config', config());
    const access = await loadKubeConfig({ env: { HOME: folder, KUBECONFIG: '' } });
    expect(access.server).toBe('https://one:6443');
  });

  test('another context than the current one, when asked for', async () => {
    const [one, two] = [await file('1', config()), await file('2', config({ name: 'two' }))];
    const env = { KUBECONFIG: [one, two].join(delimiter) };
    expect((await loadKubeConfig({ env, context: 'two' })).namespace).toBe('ns-two');
  });

  test('the service account, inside of a cluster', async () => {
    await file('token', 'pod-token\n');
    await file('ca.crt', PEM);
    await file('namespace', 'here');
    const access = await inClusterAccess('fd00::1', '443', folder);
    expect(access).toMatchObject({ server: 'https://[fd00::1]:443', namespace: 'here', ca: PEM });
    expect(await access.credentials.authorization()).toBe('Bearer pod-token');
  });
});

describe('what is missing is told', () => {
  test.each([
    ['no file at all', {}, /no kubeconfig was found: set KUBECONFIG/],
    [
      'KUBECONFIG without any file',
      { KUBECONFIG: '/nowhere/x' },
      /names \/nowhere\/x, and none of them exists/,
    ],
  ])('%s', async (_name, env, message) => {
    await expect(loadKubeConfig({ env })).rejects.toThrow(message);
  });

  test('a folder in place of the file, as compose v2 makes of a path that names nothing', async () => {
    const message = `the kubeconfig ${folder} is a folder: name a file`;
    for (const options of [{ path: folder, env: {} }, { env: { KUBECONFIG: folder } }]) {
      await expect(loadKubeConfig(options)).rejects.toThrow(message);
      await expect(loadKubeConfig(options)).rejects.toThrow('TETHER_KUBECONFIG_FILE named none');
    }
  });

  test('a given path that does not exist', async () => {
    const path = join(folder, 'gone');
    await expect(loadKubeConfig({ path, env: {} })).rejects.toThrow(`${path} does not exist`);
  });

  test.each([
    [
      'no current context',
      { 'current-context': '' },
      /no current-context is set \(contexts: one\)/,
    ],
    ['an unknown current context', { 'current-context': 'x' }, /no context "x" \(contexts: one\)/],
    [
      'an unknown current context among many',
      {
        'current-context': 'x'.repeat(500),
        contexts: Array.from({ length: 900 }, (_, n) => ({ name: `c${n}`, context: {} })),
      },
      /no context "x{80}…" \(contexts: c0, c1, c2, c3, c4 and 895 more\)/,
    ],
    ['a dangling cluster', { clusters: [] }, /context "one" names the cluster "one", which/],
    ['a dangling user', { users: [] }, /context "one" names the user "one", which/],
    ['no server', { clusters: [{ name: 'one', cluster: {} }] }, /the cluster has no server/],
    ['a list that is none', { clusters: 'x' }, /clusters must be a list/],
    [
      'a token that is no text',
      { users: [{ name: 'one', user: { token: 42 } }] },
      /users\[0\]\.user\.token must be a text/,
    ],
  ])('%s', async (_name, change, message) => {
    const path = await file('config', { ...config(), ...change });
    await expect(loadKubeConfig({ path, env: {} })).rejects.toThrow(message);
  });

  test('a certificate without its key, an unreadable file, a CA beside insecure', async () => {
    const load = async (parts: Parts) =>
      loadKubeConfig({ path: await file('c', config(parts)), env: {} });
    const half = { 'client-certificate-data': base64(PEM) };
    await expect(load({ user: half })).rejects.toThrow(/client-certificate but no client-key/);
    await expect(load({ user: { tokenFile: 'gone' } })).rejects.toThrow(
      /gone cannot be read \(ENOENT\)/,
    );
    const both = { 'insecure-skip-tls-verify': true, 'certificate-authority-data': base64(PEM) };
    await expect(load({ cluster: both })).rejects.toThrow(/exclude each other/);
    await expect(load({ cluster: { 'certificate-authority-data': 'bm8=' } })).rejects.toThrow(
      /certificate-authority-data must be base64 of a PEM text/,
    );
  });
});

describe('credentials', () => {
  const load = async (parts: Parts) =>
    loadKubeConfig({ path: await file('c', config(parts)), env: {} });

  test('of user and password are Basic', async () => {
    const { credentials } = await load({ user: { username: 'u', password: 'p:ä' } });
    expect(await credentials.authorization()).toBe(`Basic ${base64('u:p:ä')}`);
  });

  test('of certificates come inline or from files beside the kubeconfig', async () => {
    await file('cert.pem', PEM);
    const user = { 'client-certificate': 'cert.pem', 'client-key-data': base64(`${PEM}key`) };
    const access = await load({ user, cluster: { 'certificate-authority': 'cert.pem' } });
    expect(await access.credentials.clientCertificate()).toEqual({ cert: PEM, key: `${PEM}key` });
    expect(access.ca).toBe(PEM);
  });

  test('impersonation is kept: without it other rights would be used', async () => {
    const access = await load({ user: { token: 't', as: 'jane', 'as-groups': ['dev', 'ops'] } });
    expect(access.headers).toEqual([
      'impersonate-user',
      'jane',
      'impersonate-group',
      'dev',
      'impersonate-group',
      'ops',
    ]);
  });

  test('never reach a message', async () => {
    const secret = 'SECRET-ab';
    const broken = [
      `users:\n- name: one\n  user:\n    token: "${secret}\n  x: [`,
      JSON.stringify({ ...config(), users: [{ name: 'one', user: { token: `${secret}\u0007` } }] }),
      JSON.stringify(config({ user: { token: [secret] } })),
      JSON.stringify(config({ server: `https://${secret}:x@host` })),
      JSON.stringify(config({ cluster: { 'proxy-url': `ftp://${secret}@proxy` } })),
    ];
    for (const text of broken) {
      const failed = loadKubeConfig({ path: await file('c', text), env: {} });
      const error = await failed.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'InvalidInput' });
      expect(String(error)).not.toContain(secret);
    }
  });
});

test('a kubeconfig as data opens nothing, and aliases cannot blow it up', () => {
  const text = JSON.stringify(
    config({ user: { tokenFile: '/etc/shadow', exec: { command: 'rm' } } }),
  );
  const { user } = selectContext(parseKubeConfig(text, 'Secret a/b'), undefined, 'Secret a/b');
  expect(user).toEqual({ tokenFile: '/etc/shadow', exec: { command: 'rm' } });
  const lol = ['a: &a [x,x,x,x,x,x,x,x,x]'];
  for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg'].map((pair) => pair.split(''))) {
    lol.push(`${to}: &${to} [${`*${from},`.repeat(9)}]`);
  }
  expect(() => parseKubeConfig(lol.join('\n'), 'Secret a/b')).toThrow(
    'Secret a/b: its YAML aliases cannot be resolved',
  );
});
