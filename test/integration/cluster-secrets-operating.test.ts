import { describe, expect, it } from '@jest/globals';
import { api, apiOk } from '../support/api.ts';
import { clusterRig } from '../support/cluster-rig.ts';
import { kubeconfigOf, partsOfFile } from '../support/cluster-secrets.ts';
import { eventually } from '../support/eventually.ts';
import { runTether } from '../support/processes.ts';
import { keysOf } from '../support/redis.ts';
import { fromRun } from '../support/run.ts';

/* What people see of cluster Secrets: commands, Events, metrics; and that no credential is in any of it. */

const rig = clusterRig('cs-people');
const here = () => partsOfFile(fromRun('kubeconfig'));
const right = (): string => kubeconfigOf(here());
const tether = (...args: string[]) => runTether([...args, '--redis-prefix', rig.prefix]);

describe('tether reconcile cluster', () => {
  it('prints the decision, good or bad, as text and as JSON', async () => {
    await rig.put({ name: 'good', cluster: 'good', kubeconfig: right() });
    const key = `${rig.ns}/good`;
    const server = new URL(String(here().cluster['server'])).host;
    const text = await tether('reconcile', 'cluster', key, '--wait');
    expect(text).toMatchObject({ code: 0, stderr: '' });
    expect(text.stdout).toBe(
      `${key}: cluster good: Accepted: ${server}, watchers take it from here\n`,
    );
    const json = await tether('reconcile', 'cluster', key, '--wait', '-o', 'json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      kind: 'completed',
      result: { secret: key, decision: { verdict: 'Accepted', accepted: { server } } },
    });
  });

  it('of a cluster that is down tells why, at once, and it is tried on', async () => {
    const kubeconfig = kubeconfigOf({ ...here(), cluster: { server: 'https://127.0.0.1:1' } });
    await rig.put({ name: 'down', cluster: 'down', kubeconfig });
    const { attempts } = await rig.decided('down', { verdict: 'Unreachable' });
    const { stdout, code } = await tether('reconcile', 'cluster', `${rig.ns}/down`, '--wait');
    expect(stdout).toMatch(/down: cluster down: Unreachable: 127\.0\.0\.1:1: .*refused/);
    expect(code).toBe(0);
    await eventually(async () => {
      const now = await rig.registry.decision(`${rig.ns}/down`);
      expect(now?.attempts).toBeGreaterThan(attempts + 1);
    });
    const metrics = await rig.metrics();
    for (const name of ['adds_total', 'retries_total', 'work_duration_seconds_count']) {
      const series = `workqueue_${name}{name="cluster"}`;
      expect([series, metrics.get(series)]).toEqual([series, expect.any(Number)]);
      expect(metrics.get(series)).toBeGreaterThan(0);
    }
    expect(metrics.get('workqueue_adds_total{name="service"}')).toBe(0);
  });

  it.each([
    ['nothing', () => `${rig.ns}/nothing`, /known of it: there is no cluster Secret \S+:/],
    ['another namespace', () => 'default/east', /cluster Secrets live in the namespace cs-people-/],
  ])('of %s says so', async (_what, key, said) => {
    expect((await tether('reconcile', 'cluster', key(), '--wait')).stdout).toMatch(said);
  });

  it('of a Secret that describes no cluster says the same as of one that is not there', async () => {
    await rig.put({ name: 'plain', cluster: null, type: 'Opaque' });
    const said = async (name: string): Promise<string> => {
      const { stdout } = await tether('reconcile', 'cluster', `${rig.ns}/${name}`, '--wait');
      return stdout.replaceAll(`/${name}`, '/NAME');
    };
    expect(await said('plain')).toBe(await said('absent'));
  });

  it('without --wait enqueues', async () => {
    const { stdout, code } = await tether('reconcile', 'cluster', `${rig.ns}/good`);
    expect({ stdout, code }).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^enqueued ${rig.ns}/good as job \\S+\n$`)),
    });
  });
});

describe('tether status', () => {
  it('shows each cluster: state, server, age, reason, next try', async () => {
    const { stdout } = await tether('status');
    expect(stdout).toMatch(/^CLUSTER +STATE +SERVER +OBJECTS +SYNCED +CONTENT +EXPIRES +SECRET$/m);
    expect(stdout).toMatch(new RegExp(`^down +Unreachable +- .* ${rig.ns}/down$`, 'm'));
    expect(stdout).toMatch(/\/down: 127\.0\.0\.1:1: .*refused.* \(\d+ failed tr(y|ies), next in /);
    const json = JSON.parse((await tether('status', '-o', 'json')).stdout) as {
      readonly clusters: readonly object[];
    };
    expect(json.clusters).toMatchObject([
      { cluster: 'down', state: 'Unreachable', answers: false, attempts: expect.any(Number) },
      { cluster: 'good', secret: `${rig.ns}/good`, trustDomain: 'root.east.example' },
    ]);
  });
});

describe('credentials that are about to end', () => {
  it('are told by Event and metric', async () => {
    const account = { metadata: { name: 'short' } };
    const accounts = `/api/v1/namespaces/${rig.ns}/serviceaccounts`;
    await apiOk('POST', accounts, account);
    const binding = `${rig.ns}-short`;
    await apiOk('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: binding },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'cluster-admin',
      },
      subjects: [{ kind: 'ServiceAccount', name: 'short', namespace: rig.ns }],
    });
    try {
      const spec = { expirationSeconds: 3600 };
      const answer = await apiOk('POST', `${accounts}/short/token`, { spec });
      const { status } = answer as {
        readonly status: { readonly token: string; readonly expirationTimestamp: string };
      };
      const kubeconfig = kubeconfigOf({ ...here(), user: { token: status.token } });
      await rig.put({ name: 'short', cluster: 'short', kubeconfig });
      const { accepted } = await rig.decided('short', { verdict: 'Accepted' });
      const end = Date.parse(status.expirationTimestamp);
      expect(Math.abs((accepted?.expiresAt ?? 0) - end)).toBeLessThan(2_000);
      await eventually(async () => {
        const told = (await rig.events('short')).map(({ reason }) => reason);
        expect(told).toContain('ClusterCredentialEndsWithinADay');
      });
      const metrics = await rig.metrics();
      expect(
        metrics.get('tether_cluster_credential_expiry_timestamp_seconds{cluster="short"}'),
      ).toBe((accepted?.expiresAt ?? 0) / 1000);
      const expiring = 'tether_cluster_credential_expiring{cluster="short",within=';
      expect(metrics.get(`${expiring}"1d"}`)).toBe(1);
      expect(metrics.get(`${expiring}"7d"}`)).toBe(1);
      expect(metrics.get('tether_cluster_content_age_seconds{cluster="short"}')).toBeGreaterThan(0);
    } finally {
      await api('DELETE', `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${binding}`);
    }
  });
});

it('no credential is in a log line, in Redis, an Event or a metric', async () => {
  const marker = 'SECRETMARKER'.repeat(4);
  const kubeconfig = kubeconfigOf({ ...here(), user: { token: marker } });
  await rig.put({ name: 'marked', cluster: 'marked', kubeconfig });
  await rig.decided('marked', { verdict: 'Unreachable' });
  await tether('reconcile', 'cluster', `${rig.ns}/marked`, '--wait');
  const told = [
    rig.worker.stdout(),
    rig.worker.stderr(),
    rig.watcher.stdout(),
    JSON.stringify(await rig.events('marked')),
    JSON.stringify([...(await rig.metrics())]),
    await dumpOf(),
  ].join('\n');
  expect(told).toContain('marked');
  expect(told).not.toContain('SECRETMARKER');
  expect(told).not.toContain(Buffer.from(kubeconfig).toString('base64').slice(0, 60));
});

/** All values under the prefix as text. */
async function dumpOf(): Promise<string> {
  const keys = await keysOf(rig.redis, `{${rig.prefix}}*`);
  expect(keys.length).toBeGreaterThan(3);
  const values = await Promise.all(keys.map((key) => rig.redis.dumpBuffer(key)));
  const hashes = await Promise.all(
    keys.map(async (key) => {
      const type = await rig.redis.type(key);
      return type === 'hash' ? JSON.stringify(await rig.redis.hgetall(key)) : '';
    }),
  );
  return [...values.map((value) => value?.toString('latin1') ?? ''), ...hashes].join('\n');
}
