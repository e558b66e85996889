import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { describeCluster, type ClusterWatch } from '../../core/cluster.ts';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import {
  createClusterViewReader,
  type ServiceReading,
} from '../../platform/redis/clusters/cluster-view-reader.ts';
import { membersKey } from '../../platform/redis/clusters/keys.ts';
import {
  createClusterRegistry,
  type ClusterRegistry,
} from '../../platform/redis/clusters/registry.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { ApiDouble } from '../support/api-double.ts';
import { api, apiOk } from '../support/api.ts';
import { blackHoleServer } from '../support/cluster-rig.ts';
import { kubeconfigOf, partsOfFile, putSecret, secretPath } from '../support/cluster-secrets.ts';
import { expectTold } from '../support/cluster-told.ts';
import { compact, etcdOf } from '../support/etcd.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { kubectl } from '../support/kubectl.ts';
import { answer } from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, endpointsOf, remove } from '../support/objects.ts';
import { startTcpProxy, type TcpProxy } from '../support/proxy.ts';
import { keysOf, openRedis } from '../support/redis.ts';
import { remotePlanes } from '../support/remote-planes.ts';

/* Linked clusters end to end: Secrets on one real API server, the clusters two more, real processes. */

const CRD = join(import.meta.dirname, '../../infra/crd/externalworkloads.yaml');

const remotes = remotePlanes(2);
let ns = '';
let fleet: Fleet;
let redis: RedisClient;
let registry: ClusterRegistry;
let options: string[];
/** A namespace on the remote clusters. */
let shop = '';
let shops = 0;

beforeAll(async () => {
  const [east = ''] = remotes;
  await kubectl(['apply', '--server-side', '--force-conflicts', '-f', CRD], '', east);
  redis = openRedis();
});
afterAll(() => redis.disconnect());
beforeEach(async () => {
  ns = await freshNamespace('linked');
  fleet = openFleet(ns);
  registry = createClusterRegistry(redis, fleet.prefix);
  options = ['--namespace', ns, '--clusters-allow-loopback', 'true'];
  shop = `shop-${process.pid}-${(shops += 1)}`;
  for (const kubeconfig of remotes) {
    await apiOk('POST', '/api/v1/namespaces', { metadata: { name: shop } }, { kubeconfig });
  }
  await fleet.start('worker', { args: options });
});
afterEach(async () => {
  await fleet.killAll();
  for (const kubeconfig of remotes) {
    await api('DELETE', `/api/v1/namespaces/${shop}`, undefined, { kubeconfig });
  }
});

const startWatcher = () => fleet.start('watcher', { args: options });

/** Of all that runs now. */
const logs = (): string =>
  [...fleet.watchers, ...fleet.workers].map((member) => member.stdout()).join('');

/** Waits until so many watchers know of one another, so that each cluster is from the start where it belongs. */
async function untilShared(count: number): Promise<void> {
  const key = membersKey(fleet.prefix);
  const since = await eventually(async () => {
    expect(await redis.zcard(key)).toBe(count);
    return registry.now();
  });
  // A beat gives the members: one of each after all had come.
  await eventually(async () => expect(await redis.zcount(key, `(${since}`, '+inf')).toBe(count));
}

interface Way {
  /** Another port of the loopback than the API server's own. */
  readonly port?: number;
  readonly token?: string;
  /** A comment, which makes another content of the same. */
  readonly note?: string;
}

async function link(name: string, kubeconfig: string, way: Way = {}): Promise<void> {
  const { port, token, note = '' } = way;
  const { cluster, user } = partsOfFile(kubeconfig);
  const server = port === undefined ? cluster['server'] : `https://127.0.0.1:${port}`;
  const text = kubeconfigOf({
    cluster: { ...cluster, server },
    user: token === undefined ? user : { token },
  });
  await putSecret({ ...named(name), kubeconfig: `${text}# ${note}\n` });
}

/** A Secret of this run's namespace that links the cluster of its own name. */
const named = (name: string) => ({ namespace: ns, name, cluster: name });

async function putWeb(
  kubeconfig: string,
  name: string,
  endpoints: readonly object[],
): Promise<void> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${shop}/endpointslices`;
  const body = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { [LABEL_SERVICE_NAME]: 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints,
  };
  const there = (await api('GET', `${path}/${name}`, undefined, { kubeconfig })).status === 200;
  const [method, at] = there ? ['PUT', `${path}/${name}`] : ['POST', path];
  await apiOk(method, at, body, { kubeconfig });
}

async function dropWeb(kubeconfig: string, name: string): Promise<void> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${shop}/endpointslices/${name}`;
  await apiOk('DELETE', path, undefined, { kubeconfig });
}

const at = (ip: string): object => ({ addresses: [ip], conditions: { ready: true } });

function readWeb(cluster: string): Promise<ServiceReading> {
  return createClusterViewReader(redis, fleet.prefix).readService(cluster, `${shop}/web`);
}

async function ipsOf(cluster: string): Promise<string[]> {
  const { slices } = await readWeb(cluster);
  const endpoints = slices.flatMap((slice) => slice.endpoints);
  return endpoints.flatMap(({ addresses }) => addresses).toSorted();
}

const ipsBecome = (cluster: string, ips: readonly string[]): Promise<void> =>
  eventually(async () => expect(await ipsOf(cluster)).toEqual(ips));

const watchBecomes = (cluster: string, expected: Partial<ClusterWatch>): Promise<ClusterWatch> =>
  eventually(async () => {
    const watch = (await registry.watches()).get(cluster);
    expect(watch).toMatchObject(expected);
    return watch as ClusterWatch;
  });

/** The token of an account of the remote cluster that may do what Tether needs. */
async function newToken(kubeconfig: string, name: string): Promise<string> {
  const accounts = `/api/v1/namespaces/${shop}/serviceaccounts`;
  await apiOk('POST', accounts, { metadata: { name } }, { kubeconfig });
  const binding = {
    metadata: { name: `${shop}-${name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: shop, name }],
  };
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  await apiOk('POST', bindings, binding, { kubeconfig });
  const request = { spec: { expirationSeconds: 3_600 } };
  const made = (await apiOk('POST', `${accounts}/${name}/token`, request, { kubeconfig })) as {
    readonly status: { readonly token: string };
  };
  return made.status.token;
}

describe('clusters of real API servers', () => {
  it('are linked by their Secrets, one of them without ExternalWorkloads', async () => {
    const [east = '', west = ''] = remotes;
    await startWatcher();
    const workload = {
      apiVersion: 'workload.linkerd.io/v1beta1',
      kind: 'ExternalWorkload',
      metadata: { name: 'vm' },
      spec: {
        meshTLS: { identity: 'spiffe://root.east/vm', serverName: 'vm.east' },
        workloadIPs: [{ ip: '192.0.2.7' }],
      },
    };
    const workloads = `/apis/workload.linkerd.io/v1beta1/namespaces/${shop}/externalworkloads`;
    await apiOk('POST', workloads, workload, { kubeconfig: east });
    const targetRef = { kind: 'ExternalWorkload', namespace: shop, name: 'vm' };
    await putWeb(east, 'web-1', [{ addresses: ['192.0.2.7'], targetRef }]);
    await putWeb(west, 'web-1', [at('10.2.0.1')]);
    await link('east', east);
    await link('west', west);
    await ipsBecome('east', ['192.0.2.7']);
    await ipsBecome('west', ['10.2.0.1']);
    const mesh = { identity: 'spiffe://root.east/vm', serverName: 'vm.east' };
    expect((await readWeb('east')).workloads.get(`${shop}/vm`)).toMatchObject(mesh);
    await watchBecomes('west', { healthy: true, reason: '' });
    await putWeb(west, 'web-2', [at('10.2.0.2')]);
    await ipsBecome('west', ['10.2.0.1', '10.2.0.2']);
    await dropWeb(west, 'web-1');
    await ipsBecome('west', ['10.2.0.2']);
  });

  it('go with their Secret, and nothing of them is kept (report 70)', async () => {
    const [east = ''] = remotes;
    const proxy = await startTcpProxy(portOf(east));
    await startWatcher();
    await putWeb(east, 'web-1', [at('10.1.0.1')]);
    await link('east', east, { port: proxy.port });
    await watchBecomes('east', { healthy: true });
    await eventually(() => expect(proxy.open).toBeGreaterThanOrEqual(3));
    await remove(secretPath(ns, 'east'));
    await eventually(() => expect(proxy.open).toBe(0));
    await eventually(async () => {
      const keys = await keysOf(redis, `{${fleet.prefix}:cluster:*`);
      expect(keys).toEqual([]);
    });
    await proxy.close();
  });
});

describe('clusters that are no good', () => {
  it('hold up neither the start of a watcher, nor slices here, nor the others', async () => {
    const [east = ''] = remotes;
    // First by name, and so many that to wait for one after the other, five seconds each, takes too long.
    const holes = await Promise.all(Array.from({ length: 10 }, () => blackHoleServer()));
    for (const [nth, hole] of holes.entries()) {
      const cluster = { server: `https://127.0.0.1:${hole.port}` };
      await putSecret({ ...named(`a-hole-${nth}`), kubeconfig: kubeconfigOf({ cluster }) });
    }
    const stranger = await ApiDouble.start();
    const garbage = await ApiDouble.start();
    garbage.misbehave(answer(200, '{"items": 5', { 'content-type': 'application/json' }));
    try {
      await putSecret({ ...named('stranger'), kubeconfig: stranger.kubeconfig('nobody') });
      await putSecret({ ...named('garbage'), kubeconfig: garbage.kubeconfig() });
      await putWeb(east, 'web-1', [at('10.1.0.1')]);
      await link('east', east);
      await createService(ns, 'here');
      await createWorkload(ns, 'vm', 'here');
      await startWatcher();
      await eventually(async () => expect(await endpointsOf(ns, 'here')).toHaveLength(1));
      await ipsBecome('east', ['10.1.0.1']);
      await eventually(async () => {
        for (const name of ['stranger', 'garbage']) {
          const verdict = (await registry.decision(`${ns}/${name}`))?.verdict;
          expect([name, verdict]).toEqual([name, 'Unreachable']);
        }
        expect(holes.map(({ most }) => most > 0)).not.toContain(false);
      });
    } finally {
      await Promise.all([stranger.close(), garbage.close()]);
    }
  });
});

describe('a token that is rotated', () => {
  it('changes the client without a gap (report 66)', async () => {
    const [east = ''] = remotes;
    await startWatcher();
    const ips = Array.from({ length: 40 }, (_, n) => `10.1.0.${n + 1}`).toSorted();
    await putWeb(east, 'web-1', ips.map(at));
    await link('east', east, { token: await newToken(east, 'first') });
    await ipsBecome('east', ips);
    const before = await watchBecomes('east', { healthy: true });
    await link('east', east, { token: await newToken(east, 'second') });
    let fewest = Infinity;
    await eventually(
      async () => {
        fewest = Math.min(fewest, (await ipsOf('east')).length);
        const { generation } = await readWeb('east');
        expect(generation).toBeGreaterThan(before.serving);
      },
      { intervalMs: 1 },
    );
    expect(fewest).toBe(40);
    await watchBecomes('east', { healthy: true, reason: '' });
  });
});

/** Connections of a client: three watches, and two for requests at most. */
const ONE_SET = 5;

describe('a cluster that is reached through a proxy', () => {
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await startTcpProxy(portOf(remotes[0] ?? ''));
  });
  afterEach(() => proxy.close());

  it('has one set of watches after a hundred contents, and none after the end (report 77)', async () => {
    const [east = ''] = remotes;
    const { port } = proxy;
    await startWatcher();
    await putWeb(east, 'web-1', [at('10.1.0.1')]);
    await link('east', east, { port });
    const first = await watchBecomes('east', { healthy: true });
    for (let times = 0; times < 100; times++) await link('east', east, { port, note: `${times}` });
    await eventually(async () => {
      const decision = await registry.decision(`${ns}/east`);
      const serving = (await registry.watches()).get('east')?.serving ?? 0;
      expect(serving).toBeGreaterThan(first.serving);
      expect(decision?.accepted?.generation).toBe(serving);
      expect(proxy.open).toBeLessThanOrEqual(ONE_SET);
    });
    const standing = await watchesOf(east);
    expect(proxy.open).toBeGreaterThanOrEqual(3);
    await remove(secretPath(ns, 'east'));
    await eventually(() => expect(proxy.open).toBe(0));
    await eventually(async () => expect(await watchesOf(east)).toBeLessThanOrEqual(standing - 3));
  });

  it('comes back with a new token when the one before had died, and refuses none after that (report 65)', async () => {
    const [east = ''] = remotes;
    const { port } = proxy;
    await startWatcher();
    await putWeb(east, 'web-1', [at('10.1.0.1')]);
    const dying = await newToken(east, 'first');
    await link('east', east, { port, token: dying });
    await ipsBecome('east', ['10.1.0.1']);
    const before = await watchBecomes('east', { healthy: true });
    const account = `/api/v1/namespaces/${shop}/serviceaccounts/first`;
    await apiOk('DELETE', account, undefined, { kubeconfig: east });
    // An API server takes a token that it has seen for ten more seconds.
    await eventually(async () => {
      const { status } = await api('GET', '/api', undefined, { kubeconfig: east, token: dying });
      expect(status).toBe(401);
    });
    proxy.cut();
    proxy.restore();
    const reason = expect.stringMatching('401') as unknown as string;
    await watchBecomes('east', { serving: before.serving, healthy: false, reason });
    await expectTold(
      { ns, prefix: fleet.prefix, logs },
      { name: 'east', state: 'Stale', reason: /401/ },
    );
    expect(await ipsOf('east')).toEqual(['10.1.0.1']);
    await putWeb(east, 'web-1', [at('10.1.0.2')]);
    await link('east', east, { port, token: await newToken(east, 'second') });
    await ipsBecome('east', ['10.1.0.2']);
    await watchBecomes('east', { healthy: true, reason: '' });
    await eventually(() => expect(proxy.open).toBeLessThanOrEqual(ONE_SET));
    const refused = await refusalsOf(east);
    expect(refused).toBeGreaterThan(0);
    // Its first tries would come within a second of one another.
    const { at: told } = await watchBecomes('east', { healthy: true });
    await eventually(async () =>
      expect((await registry.watches()).get('east')?.at).toBeGreaterThan(told + 3_000),
    );
    expect(await refusalsOf(east)).toBe(refused);
  });

  it('is told to be stale while that cuts, keeps its answers, and is right again afterwards (report 87)', async () => {
    const [east = ''] = remotes;
    await startWatcher();
    await putWeb(east, 'web-1', [at('10.1.0.1')]);
    await link('east', east, { port: proxy.port });
    await watchBecomes('east', { healthy: true });
    await ipsBecome('east', ['10.1.0.1']);
    proxy.cut();
    await watchBecomes('east', { healthy: false });
    expect(await ipsOf('east')).toEqual(['10.1.0.1']);
    await dropWeb(east, 'web-1');
    await putWeb(east, 'web-2', [at('10.1.0.2')]);
    const etcd = etcdOf(east);
    if (etcd !== undefined) await compact(etcd, east);
    proxy.restore();
    await ipsBecome('east', ['10.1.0.2']);
    await watchBecomes('east', { healthy: true, reason: '' });
  });
});

describe('a watcher that is killed', () => {
  it('is replaced by another, and no answer goes away meanwhile', async () => {
    const [east = ''] = remotes;
    await Promise.all([startWatcher(), startWatcher()]);
    await untilShared(2);
    await putWeb(east, 'web-1', [at('10.1.0.1')]);
    await link('east', east);
    await ipsBecome('east', ['10.1.0.1']);
    const { owner } = await watchBecomes('east', { healthy: true });
    const victim = fleet.watchers.find(({ pid }) => owner.includes(`-${pid}-`));
    if (victim === undefined) throw new Error(`${owner} is none of this fleet`);
    let least = Infinity;
    let reading = true;
    const reads = (async () => {
      while (reading) least = Math.min(least, (await ipsOf('east')).length);
    })();
    const killedAt = performance.now();
    await fleet.kill(victim);
    await putWeb(east, 'web-2', [at('10.1.0.2')]);
    await ipsBecome('east', ['10.1.0.1', '10.1.0.2']);
    const ms = Math.round(performance.now() - killedAt);
    reading = false;
    await reads;
    process.stdout.write(`changes flow again ${ms} ms after the death of the owner\n`);
    expect(least).toBe(1);
    await watchBecomes('east', { healthy: true, owner: expect.not.stringMatching(owner) as never });
  });

  it('takes no answer along where it was the last one: they are told to be stale', async () => {
    const [east = ''] = remotes;
    const watcher = await startWatcher();
    await putWeb(east, 'web-1', [at('10.1.0.1')]);
    await link('east', east);
    await ipsBecome('east', ['10.1.0.1']);
    await watchBecomes('east', { healthy: true });
    await fleet.kill(watcher);
    await eventually(async () => {
      const decision = await registry.decision(`${ns}/east`);
      if (decision === null) throw new Error('there is no decision');
      const watch = (await registry.watches()).get('east') ?? null;
      const { state, answers } = describeCluster(decision, watch, await registry.now());
      expect({ state, answers }).toEqual({ state: 'Stale', answers: true });
    });
    expect(await ipsOf('east')).toEqual(['10.1.0.1']);
  });

  it('is missed by nobody where two watch each cluster', async () => {
    const [east = ''] = remotes;
    options = [...options, '--cluster-owners', '2'];
    const watchers = await Promise.all([startWatcher(), startWatcher()]);
    await putWeb(east, 'web-1', [at('10.1.0.1')]);
    await link('east', east);
    await ipsBecome('east', ['10.1.0.1']);
    for (const watcher of watchers) await watcher.untilLog(/watching a linked cluster/);
    const { owner } = await watchBecomes('east', { healthy: true });
    const victim = watchers.find(({ pid }) => owner.includes(`-${pid}-`));
    if (victim === undefined) throw new Error(`${owner} is none of this fleet`);
    await fleet.kill(victim);
    await putWeb(east, 'web-1', [at('10.1.0.2')]);
    await ipsBecome('east', ['10.1.0.2']);
  });
});

describe('the served cluster', () => {
  it('is watched as a linked one for the local members of a federated Service', async () => {
    await startWatcher();
    const services = `/api/v1/namespaces/${ns}/services`;
    const annotations = { 'multicluster.linkerd.io/local-discovery': 'web' };
    await apiOk('POST', services, {
      metadata: { name: 'web-federated', annotations },
      spec: { ports: [{ port: 80 }] },
    });
    const path = `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`;
    await apiOk('POST', path, {
      metadata: { name: 'web-1', labels: { [LABEL_SERVICE_NAME]: 'web' } },
      addressType: 'IPv4',
      ports: [],
      endpoints: [at('10.9.0.1')],
    });
    const reader = createClusterViewReader(redis, fleet.prefix);
    await eventually(async () => {
      const { slices } = await reader.readService('.local', `${ns}/web`);
      expect(slices).toMatchObject([{ endpoints: [{ addresses: ['10.9.0.1'] }] }]);
    });
    await remove(`${services}/web-federated`);
    await eventually(async () => expect((await registry.watches()).has('.local')).toBe(false));
  });
});

/** Sum of a metric of an API server over the series that match. */
async function metricOf(kubeconfig: string, series: RegExp): Promise<number> {
  const { body } = await api('GET', '/metrics', undefined, { kubeconfig });
  const lines = String(body)
    .split('\n')
    .filter((line) => series.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Watches of the three kinds that stand, whoever's. */
const watchesOf = (kubeconfig: string): Promise<number> =>
  metricOf(
    kubeconfig,
    /^apiserver_longrunning_requests\{.*resource="(services|endpointslices|externalworkloads)".*verb="WATCH"/,
  );

/** Requests whose credentials it did not take. */
const refusalsOf = (kubeconfig: string): Promise<number> =>
  metricOf(kubeconfig, /^authentication_attempts\{result="(error|failure)"\}/);

function portOf(kubeconfig: string): number {
  return Number(new URL(String(partsOfFile(kubeconfig).cluster['server'])).port);
}
