import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import {
  openLookupRig,
  type LinkedCluster,
  type Looker,
  type LookupRig,
} from '../../support/lookup-rig.ts';
import { aRemoteService, aRemoteSlice, removed } from '../../support/remote-changes.ts';

const NAME = '/v1/services/shop/web/endpoints';
const LABELS = {
  'multicluster.linkerd.io/remote-discovery': 'east',
  'multicluster.linkerd.io/remote-service': 'web',
};

let rig: LookupRig;
let east: LinkedCluster;
let looker: Looker;
beforeEach(async () => {
  rig = openLookupRig();
  east = await rig.link('east');
  await east.put(aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.1.0.1']));
  looker = await rig.start();
});
afterEach(() => rig.close());

const found = (body: Readonly<Record<string, unknown>>): string[] =>
  (body['endpoints'] as { cluster: string; address: string }[])
    .map(({ cluster, address }) => `${cluster} ${address}`)
    .sort();

const become = (...endpoints: string[]) =>
  eventually(async () => {
    const got = await looker.get(NAME);
    expect([got.status, got.status === 200 ? found(got.body) : got.body]).toEqual([200, endpoints]);
    return got;
  });

const federated = (remote: string, local?: string) =>
  rig.local('shop', {
    name: 'web',
    discovery: { remote, ...(local === undefined ? {} : { local }) },
  });

describe('a Service that its labels make a mirror', () => {
  test('has the endpoints of the Service that it stands for', async () => {
    await rig.local('shop', { name: 'web', labels: LABELS });
    const { body } = await become('east 10.1.0.1');
    expect(body).toMatchObject({
      kind: 'mirror',
      namespace: 'shop',
      service: 'web',
      state: 'Ready',
    });
    expect(body).toMatchObject({ complete: true, stale: false, ageMs: expect.any(Number) });
    expect(body['members']).toMatchObject([{ cluster: 'east', service: 'web', endpoints: 1 }]);
  });

  test('follows its labels, and its endpoints', async () => {
    await rig.local('shop', { name: 'web', labels: LABELS });
    await become('east 10.1.0.1');
    await east.put(aRemoteSlice('shop/web', ['10.1.0.2']));
    await become('east 10.1.0.2');
    await east.put(aRemoteService('shop/other'), aRemoteSlice('shop/other', ['10.1.0.9']));
    const labels = { ...LABELS, 'multicluster.linkerd.io/remote-service': 'other' };
    await rig.local('shop', { name: 'web', labels });
    await become('east 10.1.0.9');
  });

  test('is told from one that is not there, and one that stands for itself', async () => {
    await rig.local('shop', { name: 'plain' });
    for (const [name, code] of [
      ['shop/plain', 'NotRemote'],
      ['shop/none', 'ServiceNotFound'],
      ['nowhere/web', 'ServiceNotFound'],
    ]) {
      const got = await looker.get(`/v1/services/${name}/endpoints`);
      expect([name, got.status, got.body['code']]).toEqual([name, 404, code]);
    }
  });
});

test('while no watcher keeps the local Services, nothing is said of one that is not known', async () => {
  const got = await looker.get(NAME);
  expect([got.status, got.body['code']]).toEqual([503, 'NotSynced']);
});

describe('a federated Service', () => {
  test('has the union of its members, the served cluster among them', async () => {
    const west = await rig.link('west');
    await west.put(aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.1.0.1']));
    const here = await rig.link('.local');
    await rig.registry.forget(here.secret);
    await here.put(aRemoteService('shop/web-here'), aRemoteSlice('shop/web-here', ['10.0.0.1']));
    await federated('web@east,web@west', 'web-here');
    const { body } = await become('.local 10.0.0.1', 'east 10.1.0.1', 'west 10.1.0.1');
    expect(body).toMatchObject({ kind: 'federated', complete: true, state: 'Ready' });
    const ids = (body['endpoints'] as { id: string }[]).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    const listed = await looker.get('/v1/clusters');
    expect(listed.body['clusters']).toHaveLength(2);
  });

  test('takes a member in by itself when its cluster comes later', async () => {
    await federated('web@east,web@west');
    const { body } = await become('east 10.1.0.1');
    expect(body).toMatchObject({ complete: false });
    expect(body['members']).toMatchObject([{}, { cluster: 'west', code: 'ClusterNotFound' }]);
    expect((await looker.get(`${NAME}?max-age=60`)).body['code']).toBe('TooOld');
    const stream = await looker.watch(NAME);
    await stream.until(({ event }) => event === 'full');
    const west = await rig.link('west', 'none');
    const writer = await west.rotate();
    await writer.apply([aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.2.0.1'])]);
    await writer.promote();
    await west.tell({ serving: writer.generation });
    await become('east 10.1.0.1', 'west 10.2.0.1');
    const { data } = await stream.until(({ event }) => event === 'change');
    expect(data).toMatchObject({ add: [{ cluster: 'west', address: '10.2.0.1' }], remove: [] });
    // The endpoints come from the view, their age from the registry: one may be seen before the other.
    await eventually(async () => {
      expect((await looker.get(`${NAME}?max-age=60`)).status).toBe(200);
    });
    await west.unlink();
    await become('east 10.1.0.1');
    await stream.until(
      ({ data: later }) => Array.isArray(later['remove']) && later['remove'].length > 0,
    );
  });

  test('follows its annotations while somebody watches', async () => {
    const west = await rig.link('west');
    await west.put(aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.2.0.1']));
    await federated('web@east');
    await become('east 10.1.0.1');
    const stream = await looker.watch(NAME);
    await stream.until(({ event }) => event === 'full');
    await federated('web@west');
    const { data } = await stream.until(({ event }) => event === 'change');
    expect(data).toMatchObject({ add: [{ cluster: 'west' }], remove: [expect.any(String)] });
    await west.put(aRemoteSlice('shop/web', ['10.2.0.7']));
    await stream.until(({ data: { add } }) => JSON.stringify(add ?? []).includes('10.2.0.7'));
    await rig.removeLocal('shop', 'web');
    expect((await stream.until(({ event }) => event === 'gone')).data['code']).toBe(
      'ServiceNotFound',
    );
    await stream.ended;
  });

  test('tells which members are malformed, and has those that are not', async () => {
    await federated('web@east,web,@x');
    const { body } = await become('east 10.1.0.1');
    expect(body).toMatchObject({ complete: false });
    expect(body['members']).toMatchObject([
      { cluster: 'east', endpoints: 1 },
      { member: 'web', code: 'Malformed', error: expect.any(String) },
      { member: '@x', code: 'Malformed', error: expect.any(String) },
    ]);
  });

  test('is not known, rather than empty, while no member is (report 73)', async () => {
    await rig.link('west', 'none');
    await federated('web@west,web@north');
    await eventually(async () => {
      const got = await looker.get(NAME);
      expect([got.status, got.body['code']]).toEqual([503, 'NotSynced']);
      expect(got.body['members']).toMatchObject([{ cluster: 'west' }, { cluster: 'north' }]);
    });
    await federated('');
    await become();
  });

  test('is empty where its member has no such Service, and says so', async () => {
    await east.put(removed('service', 'shop/web'));
    await federated('web@east');
    const { body } = await become();
    expect(body).toMatchObject({ complete: true });
    expect(body['members']).toMatchObject([{ cluster: 'east', code: 'ServiceNotFound' }]);
  });

  test('takes the number of a port for its own', async () => {
    await federated('web@east');
    await become('east 10.1.0.1');
    expect((await looker.get(`${NAME}?port=80`)).body['endpoints']).toMatchObject([
      { ports: { http: { port: 8080 } } },
    ]);
    expect((await looker.get(`${NAME}?port=81`)).body['code']).toBe('PortNotFound');
  });
});
