import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import { api, apiOk, type ApiOptions } from '../support/api.ts';
import { kubeconfigOf, partsOfFile, putSecret, secretPath } from '../support/cluster-secrets.ts';
import { openEventStream, type EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { kubectl } from '../support/kubectl.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, mergePatch, remove, servicePath } from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { remotePlanes } from '../support/remote-planes.ts';
import { fromRun } from '../support/run.ts';

/* Look-ups end to end: a real API server, another one that is linked to it, real processes. */

const CRD = join(import.meta.dirname, '../../infra/crd/externalworkloads.yaml');

const remotes = remotePlanes(1);
let ns = '';
let fleet: Fleet;
let lookup: TetherProcess;
let url = '';
let common: string[];
const streams: EventStream[] = [];

const remote = () => ({ kubeconfig: remotes[0] ?? '' });

beforeAll(() =>
  kubectl(['apply', '--server-side', '--force-conflicts', '-f', CRD], '', remotes[0]),
);

beforeEach(async () => {
  ns = await freshNamespace('lookups');
  await apiOk('POST', '/api/v1/namespaces', { metadata: { name: ns } }, remote());
  fleet = openFleet(ns);
  const options = ['--namespace', ns, '--clusters-allow-loopback', 'true'];
  common = ['--redis-prefix', fleet.prefix];
  lookup = spawnTether(['lookup', ...common, '--log-format', 'json'], { lifetime: 'file' });
  await Promise.all([
    fleet.start('worker', { args: options }),
    fleet.start('watcher', { args: options }),
  ]);
  url = (await lookup.untilLog(/"lookupUrl":"([^"]+)"/))[1] ?? '';
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await Promise.all([fleet.killAll(), lookup.kill()]);
  await api('DELETE', `/api/v1/namespaces/${ns}`, undefined, remote());
});

const link = (cluster: string): Promise<void> => linkBy(cluster, cluster, remotes[0] ?? '');

/** Links the cluster of a kubeconfig by a Secret of this name. */
async function linkBy(name: string, cluster: string, file: string): Promise<void> {
  await putSecret({ namespace: ns, name, cluster, kubeconfig: kubeconfigOf(partsOfFile(file)) });
}

/** `web` of the linked cluster, with these addresses. */
const putWeb = (...addresses: string[]): Promise<void> => putWebOf(remote(), addresses);

/** The same of any cluster; none: the one that is served. */
async function putWebOf(where: ApiOptions, addresses: readonly string[]): Promise<void> {
  const service = `/api/v1/namespaces/${ns}/services`;
  if ((await api('GET', `${service}/web`, undefined, where)).status === 404) {
    const spec = { ports: [{ name: 'http', port: 80 }] };
    await apiOk('POST', service, { metadata: { name: 'web' }, spec }, where);
  }
  const path = `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`;
  const there = (await api('GET', `${path}/web-1`, undefined, where)).status === 200;
  const targetRef = { kind: 'ExternalWorkload', namespace: ns, name: 'vm' };
  const slice = {
    metadata: { name: 'web-1', labels: { [LABEL_SERVICE_NAME]: 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: addresses.map((address) => ({ addresses: [address], targetRef })),
  };
  const [method, at] = there ? ['PUT', `${path}/web-1`] : ['POST', path];
  await apiOk(method, at, slice, where);
}

async function putWorkload(): Promise<void> {
  const version = 'workload.linkerd.io/v1beta1';
  const path = `/apis/${version}/namespaces/${ns}/externalworkloads`;
  const meshTLS = { identity: 'spiffe://root/vm', serverName: 'vm.example' };
  const spec = { meshTLS, workloadIPs: [{ ip: '192.0.2.1' }], ports: [{ port: 8080 }] };
  const metadata = { name: 'vm' };
  const workload = { apiVersion: version, kind: 'ExternalWorkload', metadata, spec };
  await apiOk('POST', path, workload, remote());
}

const pathOf = (cluster: string) => `/v1/clusters/${cluster}/services/${ns}/web/endpoints`;

async function get(path: string) {
  const response = await fetch(`${url}${path}`, { headers: { connection: 'close' } });
  const body = (await response.json()) as Readonly<Record<string, unknown>>;
  return { status: response.status, body };
}

/** Asks without a pause; `wrong` are the answers that were no 200, or lacked the address. */
async function askUntil(signal: AbortSignal, path: string, address: string) {
  const wrong: unknown[] = [];
  let times = 0;
  for (; !signal.aborted; times++) {
    const answer = await get(path);
    const found = JSON.stringify(answer.body['endpoints'] ?? []).includes(`"${address}"`);
    if (answer.status !== 200 || !found) wrong.push(answer);
  }
  return { times, wrong };
}

const becomes = (path: string, status: number, body: object) =>
  eventually(async () => expect(await get(path)).toMatchObject({ status, body }));

/** What `web` of the cluster east has, and that nothing about it is in doubt. */
const addressesBecome = (...addresses: string[]): Promise<void> =>
  eventually(async () => {
    const { body } = await get(pathOf('east'));
    const endpoints = (body['endpoints'] ?? []) as readonly { readonly address: string }[];
    const found = endpoints.map(({ address }) => address).toSorted();
    expect({ found, stale: body['stale'] }).toEqual({ found: addresses, stale: false });
  });

async function watch(path: string): Promise<EventStream> {
  const stream = await openEventStream(`${url}${path}?watch=true`);
  streams.push(stream);
  return stream;
}

describe('a cluster that a Secret links', () => {
  test('is looked up, followed, and gone with its Secret (report 70)', async () => {
    // Unless told otherwise it answers this machine alone.
    expect(new URL(url).hostname).toBe('127.0.0.1');
    await putWeb('192.0.2.1');
    await putWorkload();
    expect((await get(pathOf('east'))).status).toBe(404);
    await link('east');
    const identity = 'spiffe://root/vm';
    const endpoints = [{ address: '192.0.2.1', ports: { http: { port: 8080 } }, identity }];
    await becomes(pathOf('east'), 200, { state: 'Ready', stale: false, endpoints });
    await becomes('/v1/clusters/east', 200, {
      cluster: 'east',
      state: 'Ready',
      secret: `${ns}/east`,
    });
    const { body } = await get('/v1/clusters/east/services');
    expect(body['services']).toContainEqual({ namespace: ns, name: 'web' });

    const stream = await watch(pathOf('east'));
    await stream.until(({ event }) => event === 'full');
    await putWeb('192.0.2.1', '192.0.2.2');
    const { data } = await stream.until(({ event }) => event === 'change');
    expect(data).toMatchObject({ add: [{ address: '192.0.2.2' }], remove: [] });
    await remove(secretPath(ns, 'east'));
    expect((await stream.until(({ event }) => event === 'gone')).data['code']).toBe(
      'ClusterNotFound',
    );
    await stream.ended;
    await becomes(pathOf('east'), 404, { code: 'ClusterNotFound' });
  });

  test('goes over to the Secret that waited for its name, and no look-up fails meanwhile', async () => {
    await putWeb('192.0.2.1');
    await putWebOf({}, ['192.0.2.1', '192.0.2.9']);
    // Of two that are equally old the name decides.
    await linkBy('first', 'east', remotes[0] ?? '');
    await linkBy('second', 'east', fromRun('kubeconfig'));
    const refused = [{ secret: `${ns}/second` }];
    await becomes('/v1/clusters/east', 200, { state: 'Ready', secret: `${ns}/first`, refused });
    await becomes(pathOf('east'), 200, { endpoints: [{ address: '192.0.2.1' }] });
    const stream = await watch(pathOf('east'));
    await stream.until(({ event }) => event === 'full');

    const asking = new AbortController();
    const asked = askUntil(asking.signal, pathOf('east'), '192.0.2.1');
    try {
      await remove(secretPath(ns, 'first'));
      await addressesBecome('192.0.2.1', '192.0.2.9');
      await becomes('/v1/clusters/east', 200, { state: 'Ready', secret: `${ns}/second` });
      // It is the other cluster that is followed now.
      await putWebOf({}, ['192.0.2.1', '192.0.2.7']);
      await addressesBecome('192.0.2.1', '192.0.2.7');
      await stream.until(({ data }) => JSON.stringify(data).includes('192.0.2.7'));
    } finally {
      asking.abort();
    }
    const { times, wrong } = await asked;
    expect(wrong).toEqual([]);
    expect(times).toBeGreaterThan(10);
    expect(stream.events.map(({ event }) => event)).not.toContain('gone');
  });

  test('is looked up by the names of local Services', async () => {
    await putWeb('192.0.2.1');
    const labels = {
      'multicluster.linkerd.io/remote-discovery': 'east',
      'multicluster.linkerd.io/remote-service': 'web',
    };
    await createService(ns, 'web-east', { labels, spec: { selector: undefined } });
    const annotations = {
      'multicluster.linkerd.io/remote-discovery': 'web@east,web@west',
      'multicluster.linkerd.io/local-discovery': 'web-here',
    };
    await createService(ns, 'web-all', { annotations, spec: { selector: undefined } });
    const mirror = `/v1/services/${ns}/web-east/endpoints`;
    const all = `/v1/services/${ns}/web-all/endpoints`;
    await becomes(mirror, 503, { code: 'NotSynced' });
    await link('east');
    const east = { cluster: 'east', address: '192.0.2.1' };
    await becomes(mirror, 200, { kind: 'mirror', endpoints: [east] });
    await createService(ns, 'web-here', { spec: { selector: undefined } });
    await apiOk('POST', `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`, {
      metadata: { name: 'web-here', labels: { [LABEL_SERVICE_NAME]: 'web-here' } },
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080 }],
      endpoints: [{ addresses: ['192.0.2.50'] }],
    });
    const seen = async (...expected: string[]) => {
      const { body } = await get(all);
      const endpoints = (body['endpoints'] ?? []) as { cluster: string; address: string }[];
      const found = endpoints.map(({ cluster, address }) => `${cluster} ${address}`).sort();
      expect([found, body]).toEqual([expected, body]);
      return body;
    };
    const partly = await eventually(() => seen('.local 192.0.2.50', 'east 192.0.2.1'));
    expect(partly).toMatchObject({ kind: 'federated', complete: false });
    // The member whose cluster comes later.
    await link('west');
    const whole = await eventually(() =>
      seen('.local 192.0.2.50', 'east 192.0.2.1', 'west 192.0.2.1'),
    );
    expect(whole).toMatchObject({ complete: true });
    const only = {
      metadata: { annotations: { 'multicluster.linkerd.io/remote-discovery': 'web@west' } },
    };
    await mergePatch(servicePath(ns, 'web-all'), only);
    await eventually(() => seen('.local 192.0.2.50', 'west 192.0.2.1'));
  });

  test('is asked on the command line', async () => {
    await putWeb('192.0.2.1');
    await createService(ns, 'plain', { spec: { selector: undefined } });
    await link('east');
    await becomes(pathOf('east'), 200, { state: 'Ready' });
    const key = `${ns}/web`;
    const shown = await runTether(['lookup', 'east', key, ...common]);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(shown.stdout).toMatch(
      /Service .*\/web: 1 endpoint; cluster east: Ready, in sync .* ago/,
    );
    expect(shown.stdout).toMatch(/^192\.0\.2\.1 +http:8080 +east +ready /m);
    const json = await runTether(['lookup', 'east', key, '-o', 'json', ...common]);
    const { body } = await get(pathOf('east'));
    expect(JSON.parse(json.stdout)).toMatchObject({
      version: body['version'],
      endpoints: body['endpoints'],
    });
    const listed = await runTether(['lookup', 'east', ...common]);
    expect(listed.stdout).toContain(`  ${key}\n`);
    for (const [args, code, message] of [
      [['east', `${ns}/none`], 1, /^tether: cluster east has no Service .*none\n$/],
      [['north', key], 1, /^tether: no cluster north is linked/],
      [['east', key, '--port', 'smtp'], 1, /^tether: the Service has no port smtp; it has: http/],
      [[`${ns}/none`], 1, /^tether: there is no Service/],
      [[`${ns}/plain`], 1, /stands for no Service of another cluster/],
      [['EAST', key], 2, /^tether: "EAST" is not a cluster's name\n$/],
      [['east', 'web'], 2, /is not a key/],
      [['--watch'], 2, /of which Service/],
    ] as const) {
      const got = await runTether(['lookup', ...args, ...common]);
      expect([args, got.code, got.stderr]).toEqual([args, code, expect.stringMatching(message)]);
    }
    const watching = spawnTether(['lookup', 'east', key, '--watch', '-o', 'json', ...common]);
    await watching.untilLog(/"event":"full"/);
    await putWeb('192.0.2.7');
    await watching.untilLog(/"event":"change".*"address":"192.0.2.7"/);
    expect(await watching.stop()).toEqual({ code: 0, signal: null });
  });
});

describe('the role', () => {
  let taken: Server | undefined;
  afterAll(() => void taken?.close());

  test('tells of a port that is in use in one line', async () => {
    const server = createServer();
    taken = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const inUse = new RegExp(
      `^tether: --lookup-addr: port ${port} of 127.0.0.1 is in use; choose another one[^\n]*\n$`,
    );
    for (const role of ['lookup', 'up']) {
      const got = await runTether([role, '--lookup-addr', `127.0.0.1:${port}`, ...common]);
      expect([role, got.code, got.stderr]).toEqual([role, 1, expect.stringMatching(inUse)]);
    }
  });

  test('stops in order, with streams that are open', async () => {
    await putWeb('192.0.2.1');
    await link('east');
    await becomes(pathOf('east'), 200, { state: 'Ready' });
    const stream = await watch(pathOf('east'));
    await stream.until(({ event }) => event === 'full');
    expect(await lookup.stop()).toEqual({ code: 0, signal: null });
    await stream.ended;
    expect(stream.events.at(-1)?.event).not.toBe('gone');
  });

  test('is part of tether up, which needs no token file and takes none that is not there', async () => {
    const args = ['up', ...common, '--lookup-token-file', '/nowhere/token'];
    const refused = await runTether(args);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^tether: --lookup-token-file: cannot be read: ENOENT[^\n]*\n$/);
    const up = spawnTether(['up', ...common, '--log-format', 'json', '--lookup-token', 's3cret']);
    const [, at] = await up.untilLog(/"lookupUrl":"([^"]+)"/);
    expect((await fetch(`${at}/v1/clusters`, { headers: { connection: 'close' } })).status).toBe(
      401,
    );
    const headers = { authorization: 'Bearer s3cret', connection: 'close' };
    expect((await fetch(`${at}/v1/clusters`, { headers })).status).toBe(200);
    expect(up.stdout() + up.stderr()).not.toContain('s3cret');
  });
});
