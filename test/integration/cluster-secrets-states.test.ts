import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import {
  ANNOTATION_CLUSTER_DOMAIN as CLUSTER_DOMAIN,
  ANNOTATION_TRUST_DOMAIN as TRUST_DOMAIN,
} from '../../core/names.ts';
import { ApiDouble } from '../support/api-double.ts';
import { blackHoleServer, clusterRig } from '../support/cluster-rig.ts';
import { kubeconfigOf, partsOfFile, secretPath } from '../support/cluster-secrets.ts';
import { expectInvalid, expectTold, type Wrong } from '../support/cluster-told.ts';
import { eventually } from '../support/eventually.ts';
import { html } from '../support/misbehaviours.ts';
import { mergePatch } from '../support/objects.ts';
import { runTether } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';
import { CLIENT } from '../unit/kube/client-certificates.ts';
import { FIRST } from '../unit/kube/tls-fixtures.ts';

/* What becomes of one cluster Secret after the other. The "other" cluster is the served one. */

const rig = clusterRig('cs-states');
const here = () => partsOfFile(fromRun('kubeconfig'));
/** A kubeconfig that is right but for what is given. */
const config = (cluster: object = {}, user?: object): string => {
  const right = here();
  return kubeconfigOf({
    cluster: { ...right.cluster, ...cluster },
    user: { ...(user ?? right.user) },
  });
};
const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function openSecret(name: string, kubeconfig: string): Promise<void> {
  await rig.put({ name, cluster: name, kubeconfig });
}

describe('a Secret that is right', () => {
  it('is accepted: log, Event and registry say so, and nothing of its token', async () => {
    await openSecret('good', config());
    const server = new URL(String(here().cluster['server'])).host;
    const { accepted } = await rig.decided('good', {
      cluster: 'good',
      verdict: 'Accepted',
      reason: '',
      attempts: 0,
      nextTryAt: null,
      accepted: { server, trustDomain: 'root.east.example', clusterDomain: 'east.local' },
    });
    expect(accepted?.generation).toBeGreaterThan(0);
    await eventually(() => {
      const said = rig.worker.stdout() + rig.watcher.stdout();
      expect(said).toMatch(/cluster good is (Syncing|Ready)/);
    });
    await eventually(async () => {
      const reasons = (await rig.events('good')).map(({ reason }) => reason);
      expect(reasons.some((reason) => /^Cluster(Syncing|Ready)$/.test(reason))).toBe(true);
    });
    const token = String(here().user['token']);
    const told = JSON.stringify([await rig.events('good'), await rig.registry.snapshot()]);
    expect(told + rig.worker.stdout() + rig.watcher.stdout()).not.toContain(token);
  });

  it('is not asked again while its content stays the same', async () => {
    await openSecret('same', config());
    const first = await rig.decided('same', { verdict: 'Accepted' });
    const probes = async () =>
      (await rig.metrics()).get('tether_cluster_probes_total{result="ok"}');
    const before = await probes();
    const looks = () => rig.worker.stdout().split('cluster Secret looked at').length;
    const looked = looks();
    await mergePatch(secretPath(rig.ns, 'same'), { metadata: { annotations: { note: 'x' } } });
    await eventually(() => expect(looks()).toBeGreaterThan(looked));
    expect(await rig.registry.decision(`${rig.ns}/same`)).toEqual(first);
    expect(await probes()).toBe(before);
  });
});

/** Aliases of aliases, which are a billion entries when they are resolved. */
const EXPLODING = Array.from({ length: 30 }, (_, at) =>
  at === 0 ? 'a0: &a0 [x]' : `a${at}: &a${at} [*a${at - 1}, *a${at - 1}]`,
).join('\n');

const withCertificate = (certificate: string): string =>
  config(
    {},
    {
      'client-certificate-data': base64(certificate),
      'client-key-data': base64(CLIENT.key),
    },
  );

/** What makes a Secret wrong, and what is said of it. */
const WRONG: readonly Wrong[] = [
  [
    'no-trust-domain',
    () => ({ annotations: { [CLUSTER_DOMAIN]: 'a' } }),
    /trust-domain is missing/,
  ],
  [
    'empty-cluster-domain',
    () => ({ annotations: { [TRUST_DOMAIN]: 'a', [CLUSTER_DOMAIN]: ' ' } }),
    /cluster-domain is missing or empty/,
  ],
  ['no-name', () => ({ cluster: '' }), /must be the name of the cluster/],
  ['no-data', () => ({ kubeconfig: '' }), /data\.kubeconfig is missing or empty/],
  ['no-yaml', () => ({ kubeconfig: 'a: [' }), /not valid YAML/],
  ['no-kubeconfig', () => ({ kubeconfig: 'x'.repeat(1_000_000) }), /YAML mapping/],
  ['aliases', () => ({ kubeconfig: EXPLODING }), /aliases/],
  [
    'no-current-context',
    () => ({ kubeconfig: config().replace('current-context: east', 'current-context: ""') }),
    /current-context/,
  ],
  [
    'dangling-context',
    () => ({ kubeconfig: config().replace('current-context: east', 'current-context: west') }),
    /west/,
  ],
  [
    'dangling-user',
    () => ({ kubeconfig: config().replace('user: east', 'user: nobody') }),
    /nobody/,
  ],
  [
    'exec',
    () => ({ kubeconfig: config({}, { exec: { command: 'sh' } }) }),
    /: exec runs a program/,
  ],
  [
    'ended',
    () => ({ kubeconfig: withCertificate(CLIENT.ended) }),
    /expired at 2021-01-01T00:00:00Z/,
  ],
  [
    'not-yet',
    () => ({ kubeconfig: withCertificate(CLIENT.notYet) }),
    /not valid before 2120-01-01T00:00:00Z/,
  ],
];

describe('a Secret that must be fixed is Invalid', () => {
  it('with one clear reason in registry, Event, log and status, and is right once it is fixed', async () => {
    await expectInvalid(rig, WRONG);
    await Promise.all(WRONG.map(([name]) => openSecret(name, config())));
    for (const [name] of WRONG) await rig.decided(name, { verdict: 'Accepted', reason: '' });
    await Promise.all(WRONG.map(([name]) => rig.drop(name)));
    for (const [name] of WRONG) await rig.forgotten(name);
  });
});

describe('a cluster that does not answer as it should is Unreachable (report 111)', () => {
  const unreachable = async (name: string, kubeconfig: string, why: RegExp): Promise<void> => {
    await openSecret(name, kubeconfig);
    const { reason, attempts, nextTryAt, since } = await rig.decided(name, {
      verdict: 'Unreachable',
      accepted: null,
    });
    expect(reason).toMatch(why);
    expect(attempts).toBeGreaterThanOrEqual(1);
    expect(nextTryAt).toBeGreaterThan(since);
    await expectTold(rig, { name, state: 'Unreachable', reason });
  };

  it('with a CA that has not signed the certificate', async () => {
    const ca = { 'certificate-authority-data': base64(FIRST.cert) };
    await unreachable('wrong-ca', config(ca), /not signed by the CA of the kubeconfig/);
  });

  it('with credentials that the server refuses: 401', async () => {
    const kubeconfig = config({}, { token: 'nonsense' });
    await unreachable('no-login', kubeconfig, /refuses the Secret's credentials \(401\)/);
  });

  it('with nobody at the port, and is asked again later and later', async () => {
    await unreachable('refused', config({ server: 'https://127.0.0.1:1' }), /refused/);
    const later = await eventually(async () => {
      const decision = await rig.registry.decision(`${rig.ns}/refused`);
      expect(decision?.attempts).toBeGreaterThanOrEqual(3);
      return decision;
    });
    // The same words at each try: one Event, and the time since when it is so.
    expect(later?.since).toBeLessThan((later?.nextTryAt ?? 0) - 2_000);
  });

  it('and a fix does not wait for the next try', async () => {
    await openSecret('patient', config({ server: 'https://127.0.0.1:1' }));
    const decision = await rig.decided('patient', { verdict: 'Unreachable' });
    // As after a long outage.
    const nextTryAt = (await rig.registry.now()) + 3_600_000;
    await rig.registry.decide({ ...decision, attempts: 50, nextTryAt });
    await openSecret('patient', config());
    await rig.decided('patient', { verdict: 'Accepted', reason: '', attempts: 0 });
  });

  it('with a web page in its place', async () => {
    const server = createServer((request, response) =>
      html(200)(request, response, () => undefined),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const kubeconfig = kubeconfigOf({ cluster: { server: `http://127.0.0.1:${port}` } });
      await unreachable('portal', kubeconfig, /is this an API server\? It begins: "<html>/);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it('with silence, to the connection or to the question', async () => {
    const hole = await blackHoleServer();
    const [mute, deaf] = [`https://127.0.0.1:${hole.port}`, `http://127.0.0.1:${hole.port}`];
    await Promise.all([
      unreachable('mute', config({ server: mute }), /no connection could be made in time/),
      unreachable(
        'deaf',
        kubeconfigOf({ cluster: { server: deaf } }),
        /gave no answer within 10 s: is a firewall between/,
      ),
    ]);
    await rig.drop('mute');
    await rig.drop('deaf');
  });

  it('and a fix cuts the try that is under way (report 74)', async () => {
    const hole = await blackHoleServer();
    await openSecret('fixed', config({ server: `https://127.0.0.1:${hole.port}` }));
    await eventually(() => expect(hole.open).toBeGreaterThan(0));
    const cuts = async () => (await rig.metrics()).get('tether_cluster_probes_total{result="cut"}');
    const before = (await cuts()) ?? 0;
    await openSecret('fixed', config());
    await rig.decided('fixed', { verdict: 'Accepted' });
    expect(await cuts()).toBe(before + 1);
    await eventually(() => expect(hole.open).toBe(0));
  });

  it('and is asked by one run at a time: who asks on demand waits for the one under way', async () => {
    const hole = await blackHoleServer();
    await openSecret('busy', config({ server: `https://127.0.0.1:${hole.port}` }));
    await eventually(() => expect(hole.open).toBe(1));
    const args = ['reconcile', 'cluster', `${rig.ns}/busy`, '--wait', '--redis-prefix', rig.prefix];
    expect((await runTether(args)).stdout).toMatch(/busy: cluster busy: Unreachable: /);
    expect(hole.most).toBe(1);
    await rig.drop('busy');
    await rig.forgotten('busy');
  });

  it('and a silent one holds up nobody', async () => {
    const hole = await blackHoleServer();
    const server = `https://127.0.0.1:${hole.port}`;
    for (const at of [1, 2, 3, 4]) await openSecret(`hole-${at}`, config({ server }));
    await eventually(() => expect(hole.open).toBeGreaterThanOrEqual(4));
    await openSecret('beside', config());
    await rig.decided('beside', { verdict: 'Accepted' });
    expect(hole.open).toBeGreaterThan(0);
    for (const at of [1, 2, 3, 4]) await rig.drop(`hole-${at}`);
  });
});

describe('the rights of the credentials', () => {
  it('that are missing are listed; once they are there the cluster is accepted', async () => {
    const denied = new Set(['list services', 'watch endpointslices', 'get externalworkloads']);
    const may = (verb: string, plural: string): boolean => !denied.has(`${verb} ${plural}`);
    const double = await ApiDouble.start({ users: { few: { name: 'few', may } } });
    try {
      await openSecret('few', double.kubeconfig('few'));
      const { reason } = await rig.decided('few', { verdict: 'Unreachable' });
      expect(reason).toContain('(list services; watch endpointslices; get externalworkloads)');
      expect(reason).toContain('infra/rbac/remote.yaml');
      denied.clear();
      await rig.decided('few', { verdict: 'Accepted' });
      await rig.drop('few');
      await rig.forgotten('few');
    } finally {
      await double.close();
    }
  });

  it('on ExternalWorkloads are not needed where there are none (report 75)', async () => {
    const may = (_verb: string, plural: string): boolean => plural !== 'externalworkloads';
    const double = await ApiDouble.start({ users: { few: { name: 'few', may } } });
    double.unserved.add('externalworkloads');
    try {
      await openSecret('no-crd', double.kubeconfig('few'));
      await rig.decided('no-crd', { verdict: 'Accepted' });
      await rig.drop('no-crd');
      await rig.forgotten('no-crd');
    } finally {
      await double.close();
    }
  });
});

describe('an accepted content goes on', () => {
  it('while a later one is refused, and is right again without a new generation', async () => {
    await openSecret('kept', config());
    const { accepted } = await rig.decided('kept', { verdict: 'Accepted' });
    await openSecret('kept', config({}, { exec: { command: 'sh' } }));
    await rig.decided('kept', { verdict: 'Invalid', accepted });
    await openSecret('kept', config({ server: 'https://127.0.0.1:1' }));
    await rig.decided('kept', { verdict: 'Unreachable', accepted });
    await openSecret('kept', config());
    await rig.decided('kept', { verdict: 'Accepted', reason: '', accepted });
  });

  it('until another one passes: that has a later generation', async () => {
    await openSecret('rotated', config());
    const first = await rig.decided('rotated', { verdict: 'Accepted' });
    await openSecret('rotated', `${config()}# changed\n`);
    await eventually(async () => {
      const now = await rig.registry.decision(`${rig.ns}/rotated`);
      expect(now?.verdict).toBe('Accepted');
      expect(now?.accepted?.generation).toBeGreaterThan(first.accepted?.generation ?? Infinity);
    });
  });

  it('but not for a Secret that was deleted and made anew with something else', async () => {
    await openSecret('anew', config());
    await rig.decided('anew', { verdict: 'Accepted' });
    await rig.drop('anew');
    await openSecret('anew', config({ server: 'https://127.0.0.1:1' }));
    await rig.decided('anew', { verdict: 'Unreachable', accepted: null });
  });
});
