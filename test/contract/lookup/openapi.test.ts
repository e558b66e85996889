import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import {
  openLookupRig,
  type LinkedCluster,
  type Looker,
  type LookupRig,
} from '../../support/lookup-rig.ts';
import { createAnswerCheck } from '../../support/openapi.ts';
import {
  aRemoteService,
  aRemoteSlice,
  aRemoteWorkload,
  readyAt,
} from '../../support/remote-changes.ts';

const check = createAnswerCheck();
const WEB = '/v1/clusters/east/services/shop/web/endpoints';

let rig: LookupRig;
let east: LinkedCluster;
let looker: Looker;
beforeAll(async () => {
  rig = openLookupRig();
  east = await rig.link('east');
  await rig.link('west', 'none');
  const targetRef = { kind: 'ExternalWorkload', namespace: 'shop', name: 'vm', uid: 'u' };
  await east.put(
    aRemoteWorkload('shop/vm', { identity: 'spiffe://vm', serverName: 'vm.example' }),
    aRemoteService('shop/web', {
      ports: [{ name: '', port: 80, protocol: 'TCP', appProtocol: 'h2c' }],
    }),
    aRemoteSlice(
      'shop/web',
      [
        { ...readyAt('10.0.0.1'), targetRef, zone: 'z', nodeName: 'n', hostname: 'h' },
        readyAt('10.0.0.2'),
      ],
      { ports: [{ name: '', port: null, protocol: 'TCP', appProtocol: 'h2c' }] },
    ),
  );
  await rig.local('shop', {
    name: 'web',
    discovery: { remote: 'web@east,web@west,web@north,none@east,bad' },
  });
  await rig.local('shop', { name: 'plain' });
  await rig.local('shop', { name: 'far', discovery: { remote: 'web@west' } });
  looker = await rig.start();
});
afterAll(() => rig.close());

test.each([
  ['/v1/clusters', 200],
  ['/v1/clusters?x=1', 400],
  ['/v1/clusters/east', 200],
  ['/v1/clusters/west', 200],
  ['/v1/clusters/EAST', 400],
  ['/v1/clusters/north', 404],
  ['/v1/clusters/east/services', 200],
  ['/v1/clusters/west/services', 503],
  ['/v1/clusters/north/services', 404],
  ['/v1/clusters/east/services?max-age=0', 503],
  [WEB, 200],
  [`${WEB}?port=80`, 200],
  [`${WEB}?port=81`, 404],
  [`${WEB}?max-age=0`, 503],
  [`${WEB}?port=`, 400],
  ['/v1/clusters/east/services/shop/none/endpoints', 404],
  ['/v1/clusters/west/services/shop/web/endpoints', 503],
  ['/v1/clusters/north/services/shop/web/endpoints', 404],
  ['/v1/services/shop/web/endpoints', 200],
  ['/v1/services/shop/web/endpoints?max-age=60', 503],
  ['/v1/services/shop/web/endpoints?port=81', 404],
  ['/v1/services/shop/far/endpoints', 503],
  ['/v1/services/shop/plain/endpoints', 404],
  ['/v1/services/shop/none/endpoints', 404],
  ['/v1/services/shop/web%20/endpoints', 400],
  ['/v1/openapi.json', 200],
])('%s (%d) is what the description says', async (path, status) => {
  const got = await looker.get(path);
  expect(got.status).toBe(status);
  expect(check.answer(path, status, got.body)).toBe('');
});

test('so are refusals that any path may give', async () => {
  const guarded = await rig.start({ token: 'x' });
  for (const path of ['/v1/clusters', WEB, '/v1/services/shop/web/endpoints', '/v1/openapi.json']) {
    const [unauthorized, wrong] = [await guarded.get(path), await looker.get(path, {}, 'POST')];
    expect([unauthorized.status, wrong.status]).toEqual([401, 405]);
    expect(check.answer(path, 401, unauthorized.body)).toBe('');
    expect(check.answer(path, 405, wrong.body)).toBe('');
  }
});

test('so is every event', async () => {
  const paths = [WEB, '/v1/services/shop/web/endpoints', '/v1/services/shop/far/endpoints'];
  const streams = await Promise.all(paths.map((path) => looker.watch(path)));
  await Promise.all(streams.map(({ events }) => eventually(() => expect(events).not.toEqual([]))));
  await east.tell({ healthy: false, reason: 'the watch broke', inSync: false });
  await Promise.all(streams.slice(0, 2).map((one) => one.until(({ event }) => event === 'state')));
  await east.put(
    aRemoteSlice('shop/web', ['10.0.0.7']),
    aRemoteService('shop/web', { type: 'NodePort' }),
  );
  await Promise.all(streams.slice(0, 2).map((one) => one.until(({ event }) => event === 'change')));
  await east.unlink();
  await streams[0]?.ended;
  const seen = new Set<string>();
  for (const { event, data } of streams.flatMap(({ events }) => events)) {
    seen.add(event);
    expect([event, check.event(event, data)]).toEqual([event, '']);
  }
  expect([...seen].sort()).toEqual(['change', 'full', 'gone', 'state']);
});

test('a body with a field too many, or one too few, is none of the description', async () => {
  const { body } = await looker.get('/v1/clusters');
  expect(check.answer('/v1/clusters', 200, body)).toBe('');
  expect(check.answer('/v1/clusters', 200, { ...body, more: 1 })).not.toBe('');
  expect(check.answer('/v1/clusters', 200, { stale: false })).not.toBe('');
  expect(check.event('gone', { error: '', code: 'ClusterNotFound' })).not.toBe('');
});
