import childProcess from 'node:child_process';
import { createHook } from 'node:async_hooks';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { InvalidInputError } from '../../../core/errors.ts';
import { readClusterSecret, type ClusterPolicy } from '../../../platform/kube/cluster-secret.ts';
import { clusterSecret, kubeconfigOf } from '../../support/cluster-secrets.ts';
import { CLIENT } from './client-certificates.ts';
import { FIRST } from './tls-fixtures.ts';

const STRICT: ClusterPolicy = { allowLoopback: false, allowInsecureTls: false, allowHosts: [] };
const LENIENT: ClusterPolicy = { allowLoopback: true, allowInsecureTls: true, allowHosts: [] };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const MARKER = 'SECRETMARKER';

/** What it said, and all that hangs on the error. */
async function errorText(kubeconfig: string, policy: ClusterPolicy): Promise<string> {
  try {
    await readClusterSecret(clusterSecret({ kubeconfig }), policy);
    return '';
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return `${error.stack}${JSON.stringify(error)}${String(error.cause)}`;
  }
}

/** Makes one field of a kubeconfig wrong in every way, with the marker in it. */
const PLANTED: readonly (readonly [string, object])[] = [
  ['token', { user: { token: `${MARKER} x` } }],
  [
    'a token that has ended',
    { user: { token: `x.${Buffer.from('{"exp":1}').toString('base64url')}.${MARKER}` } },
  ],
  ['token as a list', { user: { token: [MARKER] } }],
  ['tokenFile', { user: { tokenFile: MARKER } }],
  ['password', { user: { username: MARKER, password: MARKER } }],
  ['client-key', { user: { 'client-key': MARKER } }],
  ['client-key-data', { user: { 'client-key-data': base64(MARKER) } }],
  [
    'client-key-data that is no key',
    {
      user: {
        'client-certificate-data': base64(CLIENT.valid),
        'client-key-data': base64(
          `-----BEGIN PRIVATE KEY-----\n${MARKER}\n-----END PRIVATE KEY-----`,
        ),
      },
    },
  ],
  ['client-certificate-data', { user: { 'client-certificate-data': MARKER } }],
  ['exec', { user: { exec: { command: MARKER, env: [{ name: 'A', value: MARKER }] } } }],
  ['auth-provider', { user: { 'auth-provider': { config: { 'id-token': MARKER } } } }],
  ['impersonation', { user: { token: 't', as: MARKER, 'as-user-extra': { a: [MARKER] } } }],
  ['certificate-authority', { cluster: { 'certificate-authority': MARKER } }],
  ['certificate-authority-data', { cluster: { 'certificate-authority-data': MARKER } }],
  ['a user in the server', { cluster: { server: `https://${MARKER}:${MARKER}@east.example` } }],
  ['a server of another scheme', { cluster: { server: `ftp://${MARKER}` } }],
  ['a path of a local server', { cluster: { server: `https://127.0.0.1/${MARKER}` } }],
  ['a password of the proxy', { cluster: { 'proxy-url': `http://u:${MARKER}@127.0.0.1` } }],
  ['a proxy of another scheme', { cluster: { 'proxy-url': `ftp://${MARKER}` } }],
];

test.each(PLANTED)('no error quotes a credential: %s', async (_name, parts) => {
  const said = await errorText(kubeconfigOf(parts), STRICT);
  expect(said).not.toBe('');
  expect(said).not.toContain(MARKER);
  expect(said).not.toContain(base64(MARKER));
});

test.each([
  ['a line', `users:\n- ${MARKER}: [`],
  ['an anchor', `a: *${MARKER}`],
  ['a tag', `a: !${MARKER} b\nc: "`],
])('no error about YAML quotes it: %s', async (_name, text) => {
  const said = await errorText(text, STRICT);
  expect(said).not.toBe('');
  expect(said).not.toContain(MARKER);
});

describe('a text made to cost much', () => {
  const doubling = Array.from({ length: 30 }, (_, at) =>
    at === 0 ? 'a0: &a0 [x]' : `a${at}: &a${at} [*a${at - 1}, *a${at - 1}]`,
  ).join('\n');

  test.each<[string, string, RegExp]>([
    ['aliases of aliases', doubling, /aliases/],
    ['many aliases', `a: &a x\nb: [${'*a, '.repeat(1_000)}]`, /aliases/],
    ['brackets in brackets', '['.repeat(10_000), /nested too deeply/],
    ['braces in braces', '{a: '.repeat(50_000), /too many entries|nested too deeply/],
    ['dashes after dashes', '- '.repeat(10_000), /nested too deeply/],
    ['many keys', Array.from({ length: 50_000 }, (_, at) => `a${at}: b`).join('\n'), /entries/],
    ['many keys in one line', `{${'a,'.repeat(300_000)}}`, /entries/],
  ])('%s', async (_name, text, why) => {
    const began = process.cpuUsage();
    expect(await errorText(text, STRICT)).toMatch(why);
    const { user, system } = process.cpuUsage(began);
    // Milliseconds in fact: a bound that only an explosion breaks.
    expect((user + system) / 1e6).toBeLessThan(20);
  });

  test('a proper one with a large bundle of CAs passes', async () => {
    const bundle = base64(FIRST.cert.repeat(300)).replaceAll(/.{76}/g, '$&\n        ');
    const text = kubeconfigOf({ cluster: { 'certificate-authority-data': 'CA' } });
    const folded = text.replace('data: CA', `data: |\n        ${bundle}`);
    const content = await readClusterSecret(clusterSecret({ kubeconfig: folded }), STRICT);
    expect(content.access.ca).toBe(FIRST.cert.repeat(300));
  });
});

/** What begins a file, a process, a connection or a name look-up in Node, synchronous ones aside. */
const OUTSIDE = /^(FSREQ|FILEHANDLE|PROCESSWRAP|PIPE|TCP|TLS|UDP|GETADDRINFO|QUERYWRAP|WORKER)/;

async function outsideDuring(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const hook = createHook({
    init: (_id, type) => {
      if (OUTSIDE.test(type)) seen.push(type);
    },
  }).enable();
  try {
    await work();
  } finally {
    hook.disable();
  }
  return seen;
}

const anyText = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '/etc/passwd',
    'sh',
    'https://127.0.0.1',
    'http://east.example',
    base64(FIRST.cert),
    base64(CLIENT.key),
    base64(CLIENT.valid),
  ),
);
const anyValue = fc.oneof(
  { weight: 6, arbitrary: anyText },
  fc.constantFrom(null, true, 0, [], {}, ['x'], {
    command: 'touch',
    args: ['/tmp/x'],
    name: 'oidc',
  }),
);
const fieldsOf = (...names: string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, anyValue])), { requiredKeys: [] });
const anyKubeconfig = fc.record({
  cluster: fieldsOf(
    'server',
    'certificate-authority',
    'certificate-authority-data',
    'insecure-skip-tls-verify',
    'proxy-url',
    'tls-server-name',
  ),
  user: fieldsOf(
    'token',
    'tokenFile',
    'client-certificate',
    'client-certificate-data',
    'client-key',
    'client-key-data',
    'username',
    'password',
    'as',
    'as-groups',
    'exec',
    'auth-provider',
  ),
});

test('whatever a kubeconfig says, nothing is run, opened, connected to or resolved (report 113)', async () => {
  // The check sees something: a hook that sees nothing would prove nothing.
  const ran = await outsideDuring(async () => {
    const child = childProcess.spawn('true', { stdio: 'ignore' });
    await new Promise((resolve) => child.once('exit', resolve));
  });
  expect(ran).toContain('PROCESSWRAP');
  await fc.assert(
    fc.asyncProperty(anyKubeconfig, fc.boolean(), async (parts, lenient) => {
      const text = stringify({
        'current-context': 'c',
        clusters: [{ name: 'c', cluster: { server: 'https://east.example', ...parts.cluster } }],
        users: [{ name: 'c', user: parts.user }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
      });
      const seen = await outsideDuring(() => errorText(text, lenient ? LENIENT : STRICT));
      expect(seen).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
