import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { clusterRig } from '../support/cluster-rig.ts';
import { kubeconfigOf } from '../support/cluster-secrets.ts';
import { expectInvalid, type Wrong } from '../support/cluster-told.ts';
import { runTether } from '../support/processes.ts';

/*
 * What a kubeconfig may not do, where nothing more is allowed than by default, and few hosts: everything
 * that would run, read or become something on our side, or lead to it.
 */
const HOSTS = ['*.example', '127.0.0.1', 'localhost', '169.254.169.254'];
const rig = clusterRig('cs-policy', ['--clusters-allow-hosts', HOSTS.join(',')]);

const dir = mkdtempSync(join(tmpdir(), 'tether-policy-'));
/** There once something was run. */
const TRACE = join(dir, 'trace');
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ofUser = (name: string, user: object, why: RegExp): Wrong => [
  name,
  () => ({ kubeconfig: kubeconfigOf({ user: { token: 'token', ...user } }) }),
  why,
];
const ofCluster = (name: string, cluster: object, why: RegExp): Wrong => [
  name,
  () => ({ kubeconfig: kubeconfigOf({ cluster: { ...cluster } }) }),
  why,
];

const PLUGIN = {
  apiVersion: 'client.authentication.k8s.io/v1',
  command: 'touch',
  args: [TRACE],
  interactiveMode: 'Never',
};
const GCP = { name: 'gcp', config: { 'cmd-path': 'touch', 'cmd-args': TRACE } };

const REFUSED: readonly Wrong[] = [
  ofUser('exec', { exec: PLUGIN }, /: exec runs a program: use a token or a client certificate/),
  ofUser('auth-provider', { 'auth-provider': GCP }, /: auth-provider runs a plugin: use a token/),
  ofUser('token-file', { tokenFile: '/etc/hostname' }, /: tokenFile names a file: put the token/),
  ofUser(
    'certificate-file',
    { 'client-certificate': '/etc/tls.crt' },
    /: client-certificate names a file: embed it .* as client-certificate-data$/,
  ),
  ofUser(
    'key-file',
    { 'client-key': '/etc/tls.key' },
    /: client-key names a file: embed it .* as client-key-data$/,
  ),
  ofCluster(
    'ca-file',
    { 'certificate-authority': '/etc/ca.crt' },
    /: certificate-authority names a file: embed it .* as certificate-authority-data$/,
  ),
  ofUser('basic-name', { username: 'admin' }, /: username is a way to log in that .* given up/),
  ofUser('basic-word', { password: 'pass' }, /: password is a way to log in that .* given up/),
  ofUser('as', { as: 'admin' }, /: as impersonates somebody: use credentials/),
  ofUser('as-uid', { 'as-uid': '1' }, /: as-uid impersonates somebody: use credentials/),
  ofUser('as-groups', { 'as-groups': ['a'] }, /: as-groups impersonates somebody: use cred/),
  ofUser('as-extra', { 'as-user-extra': { a: ['b'] } }, /: as-user-extra impersonates somebody/),
  ofCluster(
    'insecure-tls',
    { 'insecure-skip-tls-verify': true },
    /: insecure-skip-tls-verify is refused: embed the CA .*--clusters-allow-insecure-tls true$/,
  ),
  ofCluster(
    'http',
    { server: 'http://east.example:8080' },
    /: server uses plain http: name an https:\/\/ URL, or .*--clusters-allow-insecure-tls true$/,
  ),
  ofCluster(
    'loopback',
    { server: 'https://127.0.0.1:6443' },
    /: server names 127\.0\.0\.1, a loopback address: .*--clusters-allow-loopback true$/,
  ),
  ofCluster(
    'localhost',
    { server: 'https://localhost:6443' },
    /: server names localhost, this very host: .*--clusters-allow-loopback true$/,
  ),
  ofCluster(
    'link-local',
    { server: 'https://169.254.169.254' },
    /: server names 169\.254\.169\.254, a link-local address: /,
  ),
  ofCluster(
    'elsewhere',
    { server: 'https://east.test:6443' },
    /: server names east\.test, which --clusters-allow-hosts does not list$/,
  ),
  ofCluster(
    'proxy-elsewhere',
    { 'proxy-url': 'http://proxy.test:3128' },
    /: proxy-url names proxy\.test, which --clusters-allow-hosts does not list$/,
  ),
  ofCluster(
    'proxy-loopback',
    { 'proxy-url': 'http://127.0.0.1:3128' },
    /: proxy-url names 127\.0\.0\.1, a loopback address: /,
  ),
  ofCluster(
    'socks5',
    { 'proxy-url': 'socks5://proxy.example:1080' },
    /: proxy-url is a socks5 proxy, whose addresses cannot be checked: use an http or https one$/,
  ),
];

describe('a kubeconfig that wants what is not allowed is Invalid', () => {
  it('with one clear reason in registry, Event, log and status, and nothing of it is done', async () => {
    await expectInvalid(rig, REFUSED);
    const { stdout } = await runTether(['status', '--redis-prefix', rig.prefix]);
    for (const [name] of REFUSED) {
      expect(stdout).toMatch(new RegExp(`^${name} +Invalid .*${rig.ns}/${name}$`, 'm'));
      expect(stdout).toMatch(new RegExp(`^${rig.ns}/${name}: Secret ${rig.ns}/${name}: `, 'm'));
    }
    const probes = [...(await rig.metrics())].filter(([series, times]) => {
      return series.startsWith('tether_cluster_probes_total') && times > 0;
    });
    expect(probes).toEqual([]);
    expect(existsSync(TRACE)).toBe(false);
  }, 120_000);
});
