import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Random } from '../../parity/random.ts';
import { eventually } from '../../support/eventually.ts';
import type { EventStream, SeenEvent } from '../../support/event-stream.ts';
import {
  openLookupRig,
  type LinkedCluster,
  type Looker,
  type LookupRig,
} from '../../support/lookup-rig.ts';
import { aRemoteService, aRemoteSlice, removed } from '../../support/remote-changes.ts';

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

interface Seen {
  readonly id: string;
  readonly address: string;
}

/** What a client has after these events. */
function present(events: readonly SeenEvent[]): string[] {
  let endpoints = new Map<string, string>();
  for (const { event, data } of events) {
    if (event === 'full') {
      endpoints = new Map((data['endpoints'] as Seen[]).map(({ id, address }) => [id, address]));
    }
    if (event !== 'change') continue;
    for (const id of data['remove'] as string[]) endpoints.delete(id);
    for (const { id, address } of data['add'] as Seen[]) endpoints.set(id, address);
  }
  return [...endpoints.values()].sort();
}

const become = (stream: EventStream, ...addresses: string[]): Promise<void> =>
  eventually(() => expect(present(stream.events)).toEqual(addresses), { intervalMs: 5 });

const of = (event: string) => (seen: SeenEvent) => seen.event === event;

describe('a subscriber', () => {
  test('gets the full set, and then what changes', async () => {
    const stream = await looker.watch(WEB);
    expect(stream.headers['content-type']).toContain('text/event-stream');
    const full = await stream.until(of('full'));
    expect(full.data).toMatchObject({ cluster: 'east', state: 'Ready', stale: false });
    expect(full.id).toBe(full.data['version']);
    await become(stream, '10.0.0.1', '10.0.0.2');
    await east.put(aRemoteSlice('shop/web', ['10.0.0.2', '10.0.0.3']));
    await become(stream, '10.0.0.2', '10.0.0.3');
    const change = await stream.until(of('change'));
    expect(change.data).toMatchObject({
      add: [{ address: '10.0.0.3' }],
      remove: [expect.any(String)],
    });
    expect(change.data).not.toHaveProperty('ports');
    const { body } = await looker.get(WEB);
    expect(change.id).toBe(body['version']);
  });

  test('is told of ports of the Service, where nothing else changed', async () => {
    const stream = await looker.watch(WEB);
    await stream.until(of('full'));
    const ports = [{ name: 'http', port: 81, protocol: 'TCP' }] as const;
    await east.put(aRemoteService('shop/web', { ports }));
    const { data } = await stream.until(of('change'));
    expect(data).toMatchObject({ add: [], remove: [], ports });
  });

  test('hears nothing of what is the same: a new version of an object, another Service', async () => {
    const stream = await looker.watch(WEB);
    await stream.until(of('full'));
    await east.put(aRemoteSlice('shop/web', ['10.0.0.1', '10.0.0.2'], { uid: 'another' }));
    await east.put(aRemoteService('shop/other'), aRemoteSlice('shop/other', ['10.0.0.7']));
    await east.put(aRemoteSlice('shop/web', ['10.0.0.1']));
    await become(stream, '10.0.0.1');
    expect(stream.events.map(({ event }) => event)).toEqual(['full', 'change']);
  });

  test('is told when what it has is no longer kept up to date, and when it is again', async () => {
    const stream = await looker.watch(WEB);
    await stream.until(of('full'));
    await east.tell({ healthy: false, reason: 'the watch broke', inSync: false });
    const stale = await stream.until(({ data }) => data['state'] === 'Stale');
    expect(stale).toMatchObject({ event: 'state', data: { answers: true, stale: true } });
    expect(stale.data['reason']).toBe('the watch broke');
    await east.tell();
    await stream.until(({ event, data }) => event === 'state' && data['state'] === 'Ready');
    expect(present(stream.events)).toEqual(['10.0.0.1', '10.0.0.2']);
  });

  test('of a cluster that is not in sync yet waits for it, and sees no empty set (report 73)', async () => {
    const west = await rig.link('west', 'none');
    const path = '/v1/clusters/west/services/shop/web/endpoints';
    await eventually(async () => expect((await looker.get(path)).status).toBe(503));
    const stream = await looker.watch(path);
    const { data } = await stream.until(of('state'));
    expect(data).toMatchObject({ answers: false, state: 'Syncing', code: 'NotSynced' });
    const writer = await west.rotate();
    await writer.apply([aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.2.0.1'])]);
    await writer.promote();
    await west.tell({ serving: writer.generation });
    await become(stream, '10.2.0.1');
    expect(stream.events.filter(of('full'))).toHaveLength(1);
  });

  test('is told that the Secret of the cluster went, and then the stream ends (report 70)', async () => {
    const other = await rig.link('west');
    await other.put(aRemoteService('shop/web'));
    const streams = [await looker.watch(WEB), await looker.watch(`${WEB}?port=http`)];
    const bystander = await looker.watch('/v1/clusters/west/services/shop/web/endpoints');
    await Promise.all([...streams, bystander].map((stream) => stream.until(of('full'))));
    await east.unlink();
    for (const stream of streams) {
      const { data } = await stream.until(of('gone'));
      expect(data).toMatchObject({ code: 'ClusterNotFound' });
      await stream.ended;
    }
    expect((await looker.get(WEB)).status).toBe(404);
    expect((await looker.watch(WEB)).status).toBe(404);
    expect(bystander.events).toHaveLength(1);
    expect(looker.metric('tether_lookup_subscribers ')).toEqual(['1']);
    // A cluster of the same name that comes later is another one.
    const again = await rig.link('east');
    await again.put(aRemoteService('shop/web'), aRemoteSlice('shop/web', ['10.9.0.1']));
    await eventually(async () => expect((await looker.get(WEB)).status).toBe(200));
    await become(await looker.watch(WEB), '10.9.0.1');
  });

  test('is told so at once, whoever decides about the Secret later (report 70)', async () => {
    const stream = await looker.watch(WEB);
    await stream.until(of('full'));
    await east.purge();
    await stream.until(of('gone'));
    await stream.ended;
    await eventually(async () =>
      expect((await looker.get(WEB)).body).toMatchObject({ code: 'NotSynced' }),
    );
  });

  test('is told that the Service went, and the port that it asks for', async () => {
    const stream = await looker.watch(WEB);
    const ofPort = await looker.watch(`${WEB}?port=http`);
    await Promise.all([stream.until(of('full')), ofPort.until(of('full'))]);
    await east.put(
      aRemoteService('shop/web', { ports: [{ name: 'grpc', port: 81, protocol: 'TCP' }] }),
      aRemoteSlice('shop/web', ['10.0.0.1'], {
        ports: [{ name: 'grpc', port: 1, protocol: 'TCP' }],
      }),
    );
    expect((await ofPort.until(of('gone'))).data).toMatchObject({ code: 'PortNotFound' });
    await ofPort.ended;
    await east.put(removed('service', 'shop/web'));
    expect((await stream.until(of('gone'))).data).toMatchObject({ code: 'ServiceNotFound' });
    await stream.ended;
  });

  test('notices nothing of a rotation that changes nothing', async () => {
    const stream = await looker.watch(WEB);
    await stream.until(of('full'));
    const next = await east.rotate();
    await next.apply([aRemoteService('shop/web')]);
    await next.apply([aRemoteSlice('shop/web', ['10.0.0.1', '10.0.0.2'])]);
    await next.promote();
    await east.tell({ serving: next.generation });
    await next.apply([aRemoteSlice('shop/web', ['10.0.0.1'])]);
    await become(stream, '10.0.0.1');
    expect(stream.events.map(({ event }) => event)).toEqual(['full', 'change']);
  });

  test('that reads nothing costs a bounded memory, and gets a full set once it reads again', async () => {
    const many = (first: string) => [
      first,
      ...Array.from({ length: 400 }, (_, at) => `10.1.${at >> 8}.${at & 255}`),
    ];
    await east.put(aRemoteSlice('shop/web', many('10.0.0.1')));
    const slow = await looker.watch(WEB);
    const quick = await looker.watch(WEB);
    await Promise.all([slow.until(of('full')), quick.until(of('full'))]);
    slow.pause();
    // Each change touches all endpoints, so that what is sent fills the sockets' own buffers.
    let rounds = 0;
    await eventually(
      async () => {
        rounds += 1;
        await east.put(
          aRemoteSlice('shop/web', many(`10.0.1.${rounds % 250}`), {
            ports: [{ name: 'http', port: 1_000 + rounds, protocol: 'TCP' }],
          }),
        );
        await quick.until(({ data }) =>
          JSON.stringify(data['add']).includes(`:${1_000 + rounds},`),
        );
        expect(looker.metric('tether_lookup_slow_readers_total ')).toEqual(['1']);
      },
      // The kernel keeps up to ten megabytes for a reader, some hundred rounds.
      { intervalMs: 0, timeoutMs: 150_000 },
    );
    const before = slow.events.length;
    await east.put(aRemoteSlice('shop/web', many('10.0.0.99')));
    await become(quick, ...many('10.0.0.99').toSorted());
    expect(slow.events).toHaveLength(before);
    slow.resume();
    await become(slow, ...many('10.0.0.99').toSorted());
    expect(slow.events.filter(of('full')).length).toBe(2);
    expect(slow.events.length).toBeLessThan(quick.events.length);
  }, 180_000);
});

test('whatever changes and whoever comes back, all have what there is in the end', async () => {
  const other = await rig.start();
  const seed = Number(process.env['TETHER_SEED'] ?? Date.now() % 100_000);
  const random = new Random(seed);
  const below = (limit: number): number => random.int(0, limit - 1);
  const clients = Array.from({ length: 6 }, (_, at) => ({ at, events: [] as SeenEvent[], id: '' }));
  const open = new Map<number, EventStream>();
  const leave = (at: number): void => {
    const client = clients[at];
    const stream = open.get(at);
    if (client === undefined || stream === undefined) return;
    stream.close();
    client.events.push(...stream.events);
    client.id = stream.lastId() || client.id;
    open.delete(at);
  };
  const comeBack = async (at: number): Promise<void> => {
    const id = clients[at]?.id ?? '';
    const headers: Record<string, string> = id === '' ? {} : { 'last-event-id': id };
    open.set(at, await (below(2) === 0 ? looker : other).watch(WEB, { headers }));
  };
  for (const { at } of clients) await comeBack(at);
  for (let step = 0; step < 120; step += 1) {
    const addresses = Array.from({ length: below(6) }, () => `10.3.0.${below(9)}`);
    const key = `shop/web-slice${below(3)}`;
    await east.put(aRemoteSlice('shop/web', [...new Set(addresses)], { key, uid: key }));
    if (below(10) === 0) await east.tell({ healthy: below(2) === 0, reason: 'broke' });
    const at = below(clients.length);
    if (below(4) > 0) continue;
    if (open.has(at)) leave(at);
    else await comeBack(at);
  }
  for (const { at } of clients) if (!open.has(at)) await comeBack(at);
  await eventually(async () => {
    const { body } = await looker.get(WEB);
    const there = (body['endpoints'] as Seen[]).map(({ address }) => address).sort();
    for (const { at, events } of clients) {
      const seen = present([...events, ...(open.get(at)?.events ?? [])]);
      expect({ seed, at, seen }).toEqual({ seed, at, seen: there });
    }
  });
});

describe('a subscriber that comes back', () => {
  const comeBack = (to: Looker, id: string): Promise<EventStream> =>
    to.watch(WEB, { headers: { 'last-event-id': id } });

  test('gets what changed meanwhile, from any process that saw it change', async () => {
    const other = await rig.start();
    const [stream, elsewhere] = [await looker.watch(WEB), await other.watch(WEB)];
    const { id } = await stream.until(of('full'));
    await elsewhere.until(of('full'));
    stream.close();
    await east.put(aRemoteSlice('shop/web', ['10.0.0.2']));
    await east.put(aRemoteSlice('shop/web', ['10.0.0.2', '10.0.0.4']));
    await become(elsewhere, '10.0.0.2', '10.0.0.4');
    for (const process of [looker, other]) {
      const again = await comeBack(process, id);
      await again.until(of('state'));
      expect(again.events.filter(of('full'))).toEqual([]);
      expect(present([...stream.events, ...again.events])).toEqual(['10.0.0.2', '10.0.0.4']);
    }
  });

  test('gets no endpoints where nothing changed, from a process that has never seen it', async () => {
    const stream = await looker.watch(WEB);
    const { id } = await stream.until(of('full'));
    const other = await rig.start();
    const again = await comeBack(other, id);
    const { data } = await again.until(of('state'));
    expect(data).toMatchObject({ version: id, answers: true, state: 'Ready' });
    await east.put(aRemoteSlice('shop/web', ['10.0.0.8']));
    await again.until(of('change'));
    expect(present([...stream.events.filter(of('full')), ...again.events])).toEqual(['10.0.0.8']);
  });

  test('gets a full set where what it has is not known', async () => {
    for (const id of ['0123456789abcdef', 'nonsense', '%00']) {
      const again = await comeBack(looker, id);
      await become(again, '10.0.0.1', '10.0.0.2');
      expect(again.events.map(({ event }) => event)).toEqual(['full']);
    }
  });

  test('gets all of it when it comes to another generation', async () => {
    const { id } = await (await looker.watch(WEB)).until(of('full'));
    const next = await east.rotate();
    await next.apply([
      aRemoteService('shop/web'),
      aRemoteSlice('shop/web', ['10.0.0.1', '10.0.0.2']),
    ]);
    await next.promote();
    await east.tell({ serving: next.generation });
    const again = await comeBack(await rig.start(), id);
    await again.until(of('state'));
    expect(again.events.map(({ event }) => event)).toEqual(['state']);
  });
});

test('a stream that has nothing to say shows that it is alive', async () => {
  const stream = await looker.watch(WEB);
  await stream.until(of('full'));
  await eventually(() => expect(stream.comments()).toBeGreaterThan(0), { timeoutMs: 40_000 });
  expect(stream.events.filter(of('change'))).toEqual([]);
});

test('two thousand subscribers all have what is there now, and cost nothing once they left', async () => {
  const streams = await Promise.all(Array.from({ length: 2_000 }, () => looker.watch(WEB)));
  // One look at all of them: two thousand that wait side by side would keep the machine busy.
  const allHave = (...addresses: string[]): Promise<void> =>
    eventually(
      () => {
        const wanted = addresses.join();
        const others = streams.filter(({ events }) => present(events).join() !== wanted);
        expect(others.length).toBe(0);
      },
      { timeoutMs: 60_000, intervalMs: 100 },
    );
  await allHave('10.0.0.1', '10.0.0.2');
  expect(looker.metric('tether_lookup_subscribers ')).toEqual(['2000']);
  for (const address of ['10.0.0.3', '10.0.0.4', '10.0.0.5']) {
    await east.put(aRemoteSlice('shop/web', [address]));
  }
  await allHave('10.0.0.5');
  const last = new Set(streams.map((stream) => stream.lastId()));
  expect([...last]).toEqual([(await looker.get(WEB)).body['version']]);
  for (const stream of streams) stream.close();
  await eventually(() => expect(looker.metric('tether_lookup_subscribers ')).toEqual(['0']));
}, 120_000);
