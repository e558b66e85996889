import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import {
  openLookupRig,
  type LinkedCluster,
  type Looker,
  type LookupRig,
} from '../../support/lookup-rig.ts';
import {
  aRemoteService,
  aRemoteSlice,
  aRemoteWorkload,
  removed,
} from '../../support/remote-changes.ts';

const WEB = '/v1/clusters/east/services/shop/web/endpoints';

let rig: LookupRig;
let east: LinkedCluster;
let looker: Looker;
beforeEach(async () => {
  rig = openLookupRig();
  east = await rig.link('east');
  await east.put(aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.0.0.1', '10.0.0.2']));
  looker = await rig.start();
});
afterEach(() => rig.close());

const addressesIn = (body: Readonly<Record<string, unknown>>): string[] =>
  (body['endpoints'] as { address: string }[]).map(({ address }) => address).sort();

/** Waits until the answer has these addresses. */
function become(path: string, ...addresses: string[]) {
  return eventually(async () => {
    const got = await looker.get(path);
    expect([got.status, addressesIn(got.body)]).toEqual([200, addresses]);
    return got;
  });
}

describe('an answer', () => {
  test('has the endpoints, and says how they are known', async () => {
    const { status, body } = await looker.get(WEB);
    expect(status).toBe(200);
    expect(addressesIn(body)).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(body).toMatchObject({
      cluster: 'east',
      namespace: 'shop',
      service: 'web',
      state: 'Ready',
      stale: false,
      syncedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      ageMs: expect.any(Number),
      type: 'ClusterIP',
      headless: false,
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    });
    expect(body).not.toHaveProperty('reason');
  });

  test('follows what changes', async () => {
    await become(WEB, '10.0.0.1', '10.0.0.2');
    await east.put(aRemoteSlice('shop/web', ['10.0.0.9']));
    await become(WEB, '10.0.0.9');
    await east.put(removed('slice', 'shop/web-slice'));
    await become(WEB);
    await east.put(removed('service', 'shop/web'));
    await eventually(async () => expect((await looker.get(WEB)).status).toBe(404));
  });

  test('has the identity of an ExternalWorkload, which may come after its slice', async () => {
    const targetRef = { kind: 'ExternalWorkload', namespace: 'shop', name: 'vm' };
    const endpoint = { addresses: ['192.0.2.1'], ready: true, serving: true, terminating: false };
    await east.put(aRemoteSlice('shop/web', [{ ...endpoint, targetRef }]));
    const { body } = await become(WEB, '192.0.2.1');
    expect((body['endpoints'] as object[])[0]).not.toHaveProperty('identity');
    await east.put(
      aRemoteWorkload('shop/vm', { identity: 'spiffe://vm', serverName: 'vm.example' }),
    );
    await eventually(async () => {
      const { body: later } = await looker.get(WEB);
      expect(later['endpoints']).toMatchObject([
        { identity: 'spiffe://vm', serverName: 'vm.example' },
      ]);
    });
  });

  test('for one port has that port alone, and is none where nothing has it', async () => {
    for (const port of ['http', '80']) {
      const { body } = await looker.get(`${WEB}?port=${port}`);
      expect(body['endpoints']).toMatchObject([{ ports: { http: { port: 8080 } } }, {}]);
    }
    const { status, body } = await looker.get(`${WEB}?port=smtp`);
    expect([status, body['code']]).toEqual([404, 'PortNotFound']);
    expect(body['error']).toContain('http (80)');
  });

  test('is the same in every process, with the same version', async () => {
    const other = await rig.start();
    const [a, b] = await Promise.all([looker.get(WEB), other.get(WEB)]);
    expect(a.body['version']).toBe(b.body['version']);
    expect(a.body['endpoints']).toEqual(b.body['endpoints']);
  });

  test('has as many endpoints during a rotation as before it', async () => {
    const { body } = await looker.get(WEB);
    const next = await east.rotate();
    await next.apply([aRemoteService('shop/web')]);
    await become(WEB, '10.0.0.1', '10.0.0.2');
    await next.apply([aRemoteSlice('shop/web', ['10.0.0.1', '10.0.0.2'])]);
    await next.promote();
    await east.tell({ serving: next.generation });
    const after = await become(WEB, '10.0.0.1', '10.0.0.2');
    expect(after.body['version']).toBe(body['version']);
    await next.apply([aRemoteSlice('shop/web', ['10.0.0.3'])]);
    await become(WEB, '10.0.0.3');
  });
});

describe('what a client has already', () => {
  test('is not sent again, whatever its age', async () => {
    const first = await looker.get(WEB);
    const etag = first.headers.get('etag') ?? '';
    for (const tag of [etag, `"other", ${etag}`, '*', etag.replace('W/', '')]) {
      const again = await looker.get(WEB, { 'if-none-match': tag });
      expect([again.status, again.headers.get('etag')]).toEqual([304, etag]);
      expect(again.headers.get('tether-cluster-state')).toBe('Ready');
      expect(Number(again.headers.get('tether-age-ms'))).toBeGreaterThanOrEqual(0);
    }
  });

  test('is sent again once it, or how it is known, is another', async () => {
    const etag = (await looker.get(WEB)).headers.get('etag') ?? '';
    await east.tell({ healthy: false, reason: 'the watch broke', inSync: false });
    const stale = await eventually(async () => {
      const got = await looker.get(WEB, { 'if-none-match': etag });
      expect(got.status).toBe(200);
      return got;
    });
    expect(stale.body).toMatchObject({ state: 'Stale', stale: true, reason: 'the watch broke' });
  });
});

describe('what is not known', () => {
  test('is never an empty list: a cluster that was never in sync answers 503 (report 73)', async () => {
    const west = await rig.link('west', 'none');
    const path = '/v1/clusters/west/services/shop/web/endpoints';
    const before = await eventually(async () => {
      const got = await looker.get(path);
      expect(got.status).toBe(503);
      return got;
    });
    expect(before.body).toMatchObject({ code: 'NotSynced', state: 'Syncing', cluster: 'west' });
    expect(before.body).not.toHaveProperty('endpoints');
    expect(before.headers.get('retry-after')).toBe('1');
    expect((await looker.get('/v1/clusters/west/services')).status).toBe(503);
    await west.tell({ inSync: false, healthy: false, reason: 'list services: timed out' });
    await eventually(async () => {
      const { status, body } = await looker.get(path);
      expect(status).toBe(503);
      expect(body).toMatchObject({ state: 'Unreachable', reason: 'list services: timed out' });
    });
    // Late, and all the same.
    const writer = await west.rotate();
    await writer.apply([aRemoteService('shop/web')]);
    await writer.promote();
    await west.tell({ serving: writer.generation });
    // The endpoints come from the view, the state from the registry: one may be seen before the other.
    await eventually(async () => {
      const { body } = await looker.get(path);
      expect(body).toMatchObject({ state: 'Ready', stale: false, endpoints: [] });
    });
  });

  test('is told apart from what is not there', async () => {
    for (const [path, code] of [
      ['/v1/clusters/north', 'ClusterNotFound'],
      ['/v1/clusters/north/services', 'ClusterNotFound'],
      ['/v1/clusters/north/services/shop/web/endpoints', 'ClusterNotFound'],
      ['/v1/clusters/east/services/shop/other/endpoints', 'ServiceNotFound'],
      ['/v1/clusters/east/services/other/web/endpoints', 'ServiceNotFound'],
    ] as const) {
      const got = await looker.get(path);
      expect([got.status, got.body['code']]).toEqual([404, code]);
      expect(got.body['error']).toMatch(/\w/);
    }
  });

  test('is not let pass by who asks for no older answer than that', async () => {
    expect((await looker.get(`${WEB}?max-age=30`)).status).toBe(200);
    await east.tell({ healthy: false, reason: 'the watch broke', inSync: false });
    const old = await eventually(async () => {
      const got = await looker.get(`${WEB}?max-age=0.1`);
      expect(got.status).toBe(503);
      return got;
    });
    expect(old.body).toMatchObject({ code: 'TooOld', state: 'Stale', ageMs: expect.any(Number) });
    expect((await looker.get(`${WEB}?max-age=600`)).body).toMatchObject({ stale: true });
  });

  test('is what was known last, once no watcher tells of the cluster any more', async () => {
    await eventually(
      async () => {
        const { status, body } = await looker.get(WEB);
        expect(status).toBe(200);
        expect(addressesIn(body)).toEqual(['10.0.0.1', '10.0.0.2']);
        expect(body).toMatchObject({ state: 'Stale', stale: true });
        expect(body['reason']).toMatch(/no watcher has told of this cluster since/);
      },
      { intervalMs: 200 },
    );
  });
});

describe('the clusters', () => {
  test('are listed with state, reason, age and expiry', async () => {
    await rig.link('west', 'none');
    const listed = await eventually(async () => {
      const { body } = await looker.get('/v1/clusters');
      expect(body['clusters']).toHaveLength(2);
      return body;
    });
    expect(listed).toMatchObject({
      stale: false,
      clusters: [
        {
          cluster: 'east',
          state: 'Ready',
          stale: false,
          answers: true,
          secret: east.secret,
          server: 'east.example:6443',
          expiresAt: expect.any(String),
          syncedAt: expect.any(String),
          ageMs: expect.any(Number),
        },
        { cluster: 'west', state: 'Syncing', answers: false },
      ],
    });
    const one = await looker.get('/v1/clusters/east');
    expect(one.body).toMatchObject({ cluster: 'east', state: 'Ready' });
    const etag = one.headers.get('etag') ?? '';
    expect((await looker.get('/v1/clusters/east', { 'if-none-match': etag })).status).toBe(304);
  });

  test('have the Secret that owns the name, and tell which others claim it', async () => {
    const claim = { secret: 'tether/zz', verdict: 'Conflict', reason: 'east is taken' } as const;
    await rig.registry.decide({ ...(await rig.registry.decisions())[0], ...claim } as never);
    await eventually(async () => {
      const { body } = await looker.get('/v1/clusters');
      expect(body['clusters']).toMatchObject([
        {
          secret: east.secret,
          state: 'Ready',
          refused: [{ secret: 'tether/zz', reason: 'east is taken' }],
        },
      ]);
    });
  });

  test('list their Services', async () => {
    await east.put(aRemoteService('shop/api'), aRemoteService('other/web'));
    const { status, body } = await looker.get('/v1/clusters/east/services?max-age=60');
    expect(status).toBe(200);
    expect(body['services']).toEqual([
      { namespace: 'other', name: 'web' },
      { namespace: 'shop', name: 'api' },
      { namespace: 'shop', name: 'web' },
    ]);
  });
});

describe('a look-up process', () => {
  test('counts what it has from what is there, not by adding and taking away (report 110)', async () => {
    const nine = Array.from({ length: 9 }, (_, at) => `10.0.1.${at}`);
    await east.put(aRemoteSlice('shop/web', nine));
    await become(WEB, ...nine);
    expect(looker.metric('tether_lookup_endpoints ')).toEqual(['9']);
    const next = await east.rotate();
    await next.apply([aRemoteService('shop/web'), aRemoteSlice('shop/web', nine.slice(1))]);
    await next.promote();
    await east.tell({ serving: next.generation });
    await become(WEB, ...nine.slice(1));
    expect(looker.metric('tether_lookup_endpoints ')).toEqual(['8']);
    expect(looker.metric('tether_lookup_services ')).toEqual(['1']);
  });

  test('counts answers by status, and tells what it had at hand', async () => {
    const cached = (result: string): number =>
      Number(looker.metric(`tether_lookup_cache_total{result="${result}"}`)[0]);
    let asked = 0;
    // Until it hears of changes, a process reads for every answer.
    const etag = await eventually(async () => {
      const { headers } = await looker.get(WEB);
      asked += 1;
      expect(cached('hit')).toBe(1);
      return headers.get('etag') ?? '';
    });
    await looker.get(WEB, { 'if-none-match': etag });
    await looker.get('/v1/clusters/north');
    const counted = (code: number) => looker.metric(`tether_lookups_total{code="${code}"}`);
    expect([counted(200), counted(304), counted(404)]).toEqual([[`${asked}`], ['1'], ['1']]);
    expect([cached('hit'), cached('miss')]).toEqual([2, asked - 1]);
  });

  test('measures how long a change takes to its subscribers', async () => {
    const stream = await looker.watch(WEB);
    await stream.until(({ event }) => event === 'full');
    await east.tell({ healthy: false, reason: 'broke' });
    await stream.until(({ event }) => event === 'state');
    expect(looker.metric('tether_lookup_event_seconds_count ')).toEqual(['0']);
    await east.put(aRemoteSlice('shop/web', ['10.0.0.4']));
    await stream.until(({ event }) => event === 'change');
    expect(looker.metric('tether_lookup_event_seconds_count ')).toEqual(['1']);
  });

  test('wants its token, before it says anything at all', async () => {
    const guarded = await rig.start({ token: 's3cret' });
    for (const path of [WEB, '/v1/openapi.json', '/nothing', `${WEB}?watch=true`]) {
      const got = await guarded.get(path);
      expect([got.status, got.body['code']]).toEqual([401, 'Unauthorized']);
      expect(got.headers.get('www-authenticate')).toBe('Bearer');
    }
    expect((await guarded.get(WEB, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await guarded.get(WEB, { authorization: 'Bearer s3cret' })).status).toBe(200);
  });

  test('answers HEAD as GET, without the body', async () => {
    for (const path of [WEB, '/v1/clusters', '/v1/clusters/north', '/v1/openapi.json']) {
      const [got, head] = await Promise.all([looker.get(path), looker.get(path, {}, 'HEAD')]);
      expect([head.status, head.body]).toEqual([got.status, {}]);
      expect(head.headers.get('content-type')).toBe(got.headers.get('content-type'));
    }
    const stream = await looker.get(`${WEB}?watch=true`, {}, 'HEAD');
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
  });

  test('changes nothing, whatever it is asked to', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const got = await looker.get(WEB, {}, method);
      expect([got.status, got.body['code']]).toEqual([405, 'MethodNotAllowed']);
      expect(got.headers.get('allow')).toBe('GET, HEAD');
    }
  });
});
