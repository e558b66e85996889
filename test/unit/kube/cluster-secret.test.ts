import { describe, expect, test } from '@jest/globals';
import type { ApiSecret } from '../../../core/api-objects.ts';
import { InvalidInputError } from '../../../core/errors.ts';
import {
  ANNOTATION_CLUSTER_DOMAIN,
  ANNOTATION_TRUST_DOMAIN,
  LABEL_CLUSTER_NAME,
} from '../../../core/names.ts';
import {
  isClusterSecret,
  readClusterSecret,
  type ClusterPolicy,
} from '../../../platform/kube/cluster-secret.ts';
import {
  clusterSecret,
  kubeconfigOf,
  type KubeconfigParts,
} from '../../support/cluster-secrets.ts';
import { CLIENT } from './client-certificates.ts';
import { FIRST, SECOND } from './tls-fixtures.ts';

const STRICT: ClusterPolicy = { allowLoopback: false, allowInsecureTls: false, allowHosts: [] };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const CERTIFICATE = {
  'client-certificate-data': base64(CLIENT.valid),
  'client-key-data': base64(CLIENT.key),
};

const read = (parts: KubeconfigParts, policy: Partial<ClusterPolicy> = {}) =>
  readClusterSecret(clusterSecret({ kubeconfig: kubeconfigOf(parts) }), { ...STRICT, ...policy });

/** The message and field of the refusal. */
async function refusal(promise: Promise<unknown>): Promise<{ field: string; message: string }> {
  const error: unknown = await promise.then(
    () => new Error('it was accepted'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof InvalidInputError)) throw error;
  return { field: error.field, message: error.message };
}

const jwt = (claims: object): string =>
  ['{"alg":"none"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

describe('a Secret that is right', () => {
  test('with a token and a CA', async () => {
    const content = await read({
      cluster: { 'certificate-authority-data': base64(FIRST.cert + SECOND.cert) },
      user: { token: 'abc' },
    });
    expect(content).toMatchObject({
      cluster: 'east',
      trustDomain: 'root.east.example',
      clusterDomain: 'east.local',
      server: 'east.example:6443',
      expiresAt: null,
      access: {
        server: 'https://east.example:6443',
        insecure: false,
        ca: FIRST.cert + SECOND.cert,
      },
    });
    expect(content.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await content.access.credentials.authorization()).toBe('Bearer abc');
    expect(content.addressRule?.('127.0.0.1')).toMatch(/loopback/);
  });

  test.each(['key', 'sec1Key'] as const)('with a client certificate and its %s', async (form) => {
    const { access, expiresAt } = await read({
      user: { ...CERTIFICATE, 'client-key-data': base64(CLIENT[form]) },
    });
    expect(await access.credentials.clientCertificate()).toEqual({
      cert: CLIENT.valid,
      key: CLIENT[form],
    });
    expect(expiresAt).toBe(Date.UTC(2120, 0, 1));
  });

  test('a "%" in the password of proxy-url that begins no escape is refused', async () => {
    const cluster = { 'proxy-url': 'http://user:pa%ss@proxy.example:3128' };
    const { field, message } = await refusal(read({ cluster }));
    expect(field).toBe('proxy-url');
    expect(message).not.toContain('pa%ss');
  });

  test('proxy-url and tls-server-name are honoured, a path stays, a port is filled in', async () => {
    const { access, server } = await read({
      cluster: {
        server: 'https://rancher.example/k8s/clusters/c-1/',
        'proxy-url': 'http://user:pass@proxy.example:3128',
        'tls-server-name': 'kubernetes',
      },
    });
    expect(server).toBe('rancher.example:443');
    expect(access).toMatchObject({
      server: 'https://rancher.example/k8s/clusters/c-1',
      proxyUrl: 'http://user:pass@proxy.example:3128',
      tlsServerName: 'kubernetes',
    });
  });

  test('only its current context counts', async () => {
    const text = kubeconfigOf({}).replace(
      'users:',
      'users:\n  - name: other\n    user: { exec: { command: sh } }',
    );
    const secret = clusterSecret({ kubeconfig: text });
    expect((await readClusterSecret(secret, STRICT)).server).toBe('east.example:6443');
  });
});

describe('when credentials end', () => {
  const exp = Math.floor(Date.now() / 1000) + 3600;

  test('a JWT says so by exp, another token does not', async () => {
    expect((await read({ user: { token: jwt({ exp }) } })).expiresAt).toBe(exp * 1000);
    for (const claims of [{}, { exp: 'soon' }, { exp: null }, { exp: 1e300 }]) {
      expect((await read({ user: { token: jwt(claims) } })).expiresAt).toBeNull();
    }
    expect((await read({ user: { token: 'a.b.c' } })).expiresAt).toBeNull();
  });

  test('the earlier of token and certificate counts', async () => {
    const user = { ...CERTIFICATE, token: jwt({ exp }) };
    expect((await read({ user })).expiresAt).toBe(exp * 1000);
  });

  test('what has ended, or has not begun, is refused with the time', async () => {
    const ended = { ...CERTIFICATE, 'client-certificate-data': base64(CLIENT.ended) };
    expect(await refusal(read({ user: ended }))).toEqual({
      field: 'client-certificate-data',
      message:
        'Secret tether/east: the certificate in client-certificate-data expired at ' +
        '2021-01-01T00:00:00Z: put a valid one into the Secret',
    });
    const notYet = { ...CERTIFICATE, 'client-certificate-data': base64(CLIENT.notYet) };
    expect((await refusal(read({ user: notYet }))).message).toMatch(
      /is not valid before 2120-01-01T00:00:00Z/,
    );
    const token = jwt({ exp: 1_600_000_000 });
    expect((await refusal(read({ user: { token } }))).message).toMatch(
      /the token expired at 2020-09-13T12:26:40Z: put a new one into the Secret/,
    );
  });
});

describe('what a kubeconfig may not do (report 113)', () => {
  test.each<[string, object, RegExp]>([
    ['exec', { exec: { apiVersion: 'x', command: 'sh' } }, /runs a program/],
    ['exec', { exec: {} }, /runs a program/],
    ['auth-provider', { 'auth-provider': { name: 'gcp' } }, /runs a plugin/],
    ['tokenFile', { token: 't', tokenFile: '/var/run/secrets/x' }, /names a file/],
    ['client-certificate', { 'client-certificate': '/etc/x.pem' }, /embed it .* as client-cert/],
    ['client-key', { ...CERTIFICATE, 'client-key': 'x.key' }, /embed it .* as client-key-data/],
    ['username', { username: 'u', password: 'p' }, /given up/],
    ['password', { token: 't', password: 'p' }, /given up/],
    ['as', { token: 't', as: 'root' }, /impersonates/],
    ['as-uid', { token: 't', 'as-uid': '0' }, /impersonates/],
    ['as-groups', { token: 't', 'as-groups': ['system:masters'] }, /impersonates/],
    ['as-groups', { token: 't', 'as-groups': [] }, /impersonates/],
    ['as-user-extra', { token: 't', 'as-user-extra': { a: ['b'] } }, /impersonates/],
  ])('%s: %j', async (field, user, why) => {
    const refused = await refusal(read({ user: user as Record<string, unknown> }));
    expect(refused.field).toBe(field);
    expect(refused.message).toMatch(new RegExp(`^Secret tether/east: ${field} `));
    expect(refused.message).toMatch(why);
    // Nothing but allow-options could let it pass, and there is none.
    const lenient = { allowLoopback: true, allowInsecureTls: true };
    const again = read({ user: user as Record<string, unknown> }, lenient);
    expect((await refusal(again)).field).toBe(field);
  });

  test('as-groups that is no list is not dropped silently', async () => {
    const refused = await refusal(read({ user: { token: 't', 'as-groups': 'system:masters' } }));
    expect(refused.message).toMatch(/as-groups must be a list/);
  });

  test('certificate-authority names a file', async () => {
    const refused = await refusal(read({ cluster: { 'certificate-authority': '/etc/ca.pem' } }));
    expect(refused.message).toMatch(/certificate-authority names a file: embed it/);
  });

  test.each([
    ['insecure-skip-tls-verify', { 'insecure-skip-tls-verify': true }],
    ['server', { server: 'http://east.example' }],
    ['server', { server: 'east.example:8080' }],
  ])('%s is refused unless allowed: %j', async (field, cluster) => {
    const refused = await refusal(read({ cluster }));
    expect(refused.field).toBe(field);
    expect(refused.message).toMatch(/--clusters-allow-insecure-tls/);
    expect(await read({ cluster }, { allowInsecureTls: true })).toMatchObject({ cluster: 'east' });
  });

  test('a CA beside insecure-skip-tls-verify, allowed or not', async () => {
    const cluster = {
      'insecure-skip-tls-verify': true,
      'certificate-authority-data': base64(FIRST.cert),
    };
    const refused = await refusal(read({ cluster }, { allowInsecureTls: true }));
    expect(refused.message).toMatch(/exclude each other/);
  });

  const LOCAL = [
    'https://127.0.0.1:6443',
    'https://127.1',
    'https://0x7f.0.0.1',
    'https://2130706433',
    'https://[::1]:6443',
    'https://[::ffff:127.0.0.1]',
    'https://0.0.0.0',
    'https://[::]',
    'https://169.254.169.254',
    'https://[fe80::1]',
    'https://224.0.0.1',
    'https://[64:ff9b::127.0.0.1]',
    'https://localhost:6443',
    'https://api.localhost.',
  ];
  test.each(LOCAL)('server %s is refused unless allowed', async (server) => {
    const refused = await refusal(read({ cluster: { server } }));
    expect(refused.field).toBe('server');
    expect(refused.message).toMatch(/--clusters-allow-loopback/);
    const allowed = await read({ cluster: { server } }, { allowLoopback: true });
    expect(allowed.addressRule).toBeUndefined();
  });

  test.each(['http://127.0.0.1:3128', 'http://[::1]', 'https://localhost'])(
    'proxy-url %s is refused unless allowed',
    async (proxy) => {
      const cluster = { 'proxy-url': proxy };
      expect((await refusal(read({ cluster }))).field).toBe('proxy-url');
      expect((await read({ cluster }, { allowLoopback: true })).access.proxyUrl).toBe(proxy);
    },
  );

  test('a socks5 proxy, whose connections no rule can watch', async () => {
    const cluster = { 'proxy-url': 'socks5://proxy.example:1080' };
    expect((await refusal(read({ cluster }))).message).toMatch(/socks5/);
  });

  test('hosts outside of the list, of server and of proxy', async () => {
    const policy = { allowHosts: ['east.example', '*.corp.example', '2001:db8::1'] };
    for (const host of ['east.example', 'EAST.example.', 'a.corp.example', '[2001:DB8:0::1]']) {
      await expect(read({ cluster: { server: `https://${host}` } }, policy)).resolves.toBeDefined();
    }
    for (const host of ['corp.example', 'xcorp.example', 'west.example', 'east.example.evil.org']) {
      const refused = await refusal(read({ cluster: { server: `https://${host}` } }, policy));
      expect(refused.message).toMatch(/--clusters-allow-hosts does not list/);
    }
    const proxy = await refusal(read({ cluster: { 'proxy-url': 'http://west.example' } }, policy));
    expect(proxy.field).toBe('proxy-url');
  });
});

describe('credentials that cannot work', () => {
  test.each<[string, object, RegExp]>([
    [
      'client-key-data',
      { ...CERTIFICATE, 'client-key-data': base64(FIRST.key) },
      /is not the key of/,
    ],
    [
      'client-key-data',
      { ...CERTIFICATE, 'client-key-data': base64(CLIENT.lockedKey) },
      /passphrase/,
    ],
    ['client-key-data', { ...CERTIFICATE, 'client-key-data': base64('x') }, /base64 of a PEM/],
    ['client-key-data', { 'client-certificate-data': base64(CLIENT.valid) }, /is missing/],
    ['client-certificate-data', { 'client-key-data': base64(CLIENT.key) }, /is missing/],
    [
      'client-certificate-data',
      { ...CERTIFICATE, 'client-certificate-data': base64('-----BEGIN CERTIFICATE-----\nx') },
      /cannot be read/,
    ],
    ['token', { token: 'two\nlines' }, /no HTTP header can carry/],
  ])('%s: %#', async (field, user, why) => {
    const refused = await refusal(read({ user: user as Record<string, unknown> }));
    expect(refused.field).toBe(field);
    expect(refused.message).toMatch(why);
  });

  test.each<[string, string, RegExp]>([
    ['no PEM', base64('nonsense'), /base64 of a PEM text/],
    ['no base64', '!!!', /base64 of a PEM text/],
    ['a key', base64(FIRST.key), /holds no certificate/],
    [
      'a damaged second certificate',
      base64(`${FIRST.cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`),
      /cannot be read/,
    ],
  ])('a CA that is %s', async (_name, data, why) => {
    const refused = await refusal(read({ cluster: { 'certificate-authority-data': data } }));
    expect(refused.field).toBe('certificate-authority-data');
    expect(refused.message).toMatch(why);
  });
});

describe('the Secret itself', () => {
  test('is one by type and label alone', () => {
    expect(isClusterSecret(clusterSecret())).toBe(true);
    expect(isClusterSecret(clusterSecret({ type: 'Opaque' }))).toBe(false);
    expect(isClusterSecret(clusterSecret({ cluster: null }))).toBe(false);
    expect(isClusterSecret({})).toBe(false);
  });

  test.each(['', 'East_1', '-east', '.local', 'a..b'])('a cluster called %j', async (cluster) => {
    const refused = await refusal(readClusterSecret(clusterSecret({ cluster }), STRICT));
    expect(refused.field).toBe(LABEL_CLUSTER_NAME);
  });

  test.each([ANNOTATION_TRUST_DOMAIN, ANNOTATION_CLUSTER_DOMAIN])('without %s', async (name) => {
    const all = { [ANNOTATION_TRUST_DOMAIN]: 'a', [ANNOTATION_CLUSTER_DOMAIN]: 'b' };
    for (const value of ['', '  ', 'two words', 'x'.repeat(254)]) {
      const secret = clusterSecret({ annotations: { ...all, [name]: value } });
      expect((await refusal(readClusterSecret(secret, STRICT))).field).toBe(name);
    }
  });

  test.each<[string, ApiSecret['data'], RegExp]>([
    ['no data', undefined, /missing or empty/],
    ['several clusters, one a key (report 69)', { east: 'YQ==', west: 'YQ==' }, /missing or empty/],
    ['more than 1 MB', { kubeconfig: base64('#'.repeat(1_000_010)) }, /more than 1 MB/],
    ['no YAML', { kubeconfig: base64('a: [') }, /not valid YAML/],
    ['no mapping', { kubeconfig: base64('- a') }, /YAML mapping/],
    ['no bytes of a text', { kubeconfig: '/////w==' }, /YAML/],
  ])('%s', async (_name, data, why) => {
    const { data: _, ...rest } = clusterSecret();
    const secret = data === undefined ? rest : { ...rest, data };
    expect((await refusal(readClusterSecret(secret, STRICT))).message).toMatch(why);
  });

  test('its hash follows what matters, and nothing else', async () => {
    const hashOf = async (secret: ApiSecret) => (await readClusterSecret(secret, STRICT)).hash;
    const annotations = { [ANNOTATION_TRUST_DOMAIN]: 'a', [ANNOTATION_CLUSTER_DOMAIN]: 'b' };
    const base = await hashOf(clusterSecret({ annotations }));
    const other = { ...annotations, note: 'x' };
    expect(await hashOf(clusterSecret({ annotations: other, name: 'renamed' }))).toBe(base);
    const changed = [
      clusterSecret({ annotations, cluster: 'west' }),
      clusterSecret({ annotations: { ...annotations, [ANNOTATION_TRUST_DOMAIN]: 'c' } }),
      clusterSecret({ annotations: { ...annotations, [ANNOTATION_CLUSTER_DOMAIN]: 'c' } }),
      clusterSecret({ annotations, kubeconfig: `${kubeconfigOf({})}\n` }),
    ];
    const hashes = await Promise.all(changed.map(hashOf));
    expect(new Set([base, ...hashes]).size).toBe(5);
  });
});
