import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VIEW_SCHEMA } from '../../../core/codec.ts';
import { createIdentityStore, type NotedList } from '../../../platform/redis/view/identity.ts';
import { failuresKey } from '../../../platform/redis/view/keys.ts';
import { eventually } from '../../support/eventually.ts';
import { deleteKeys, keysOf } from '../../support/redis.ts';
import {
  NS,
  openFixture,
  service,
  slice,
  sliceRecord,
  workload,
  type ViewFixture,
} from './fixture.ts';

let f: ViewFixture;
const key = { namespace: NS, name: 'web' };
beforeEach(() => {
  f = openFixture();
});
afterEach(() => f.close());

async function fill(): Promise<void> {
  await f.put('service', service('web', 1));
  await f.put('workload', workload('vm-a', 2));
  await f.put('workload', workload('vm-b', 3, { labels: { app: 'other' } }));
  await f.put('slice', slice('web-1', 4, 'web'));
  await f.put('slice', slice('other-1', 5, 'other'));
  await f.sync();
}

describe('the lock', () => {
  it('is held by one at a time', async () => {
    expect((await f.view.acquire(key, 'one', 5_000, false)).held).toBe(true);
    const second = await f.view.acquire(key, 'two', 5_000, false);
    expect(second.held).toBe(false);
    await f.view.finish(key, 'one', 'ok', [], []);
    expect((await f.view.acquire(key, 'two', 5_000, false)).held).toBe(true);
  });

  it('runs out by the clock of Redis when its holder died', async () => {
    await f.view.acquire(key, 'dead', 50, false);
    await eventually(async () => {
      expect((await f.view.acquire(key, 'heir', 5_000, false)).held).toBe(true);
    });
    expect(await f.view.renew(key, 'dead', 5_000)).toBe(false);
  });

  it('lasts as long as its holder said, whatever somebody else would give it (report 107)', async () => {
    await f.view.acquire(key, 'long', 2_000, false);
    const held = await f.view.acquire(key, 'short', 20, false);
    expect(held.held).toBe(false);
    // So the other one learns how long that is, and has shortened nothing by asking.
    expect(!held.held && held.freeInMs).toBeGreaterThan(1_000);
    expect(await f.view.renew(key, 'short', 20)).toBe(false);
    expect((await f.view.finish(key, 'short', 'ok', [], [])).held).toBe(false);
    expect(await f.view.renew(key, 'long', 2_000)).toBe(true);
  });

  it('that was renewed for less time lasts less, by its holder’s own word (report 107)', async () => {
    await f.view.acquire(key, 'long', 60_000, false);
    expect(await f.view.renew(key, 'long', 50)).toBe(true);
    await eventually(async () => {
      expect((await f.view.acquire(key, 'heir', 60_000, false)).held).toBe(true);
    });
    expect(await f.view.renew(key, 'long', 60_000)).toBe(false);
  });

  it('lasts while it is renewed, and tells its holder when it went to another', async () => {
    await f.view.acquire(key, 'one', 5_000, false);
    expect(await f.view.renew(key, 'one', 5_000)).toBe(true);
    await f.wipe();
    expect(await f.view.renew(key, 'one', 5_000)).toBe(false);
  });

  it('is not given back by somebody who lost it', async () => {
    await f.view.acquire(key, 'one', 5_000, false);
    expect((await f.view.finish(key, 'two', 'ok', [], [])).held).toBe(false);
    expect((await f.view.acquire(key, 'three', 5_000, false)).held).toBe(false);
  });
});

describe('reading', () => {
  it('gives the Service, the workloads that its selector matches and its slices, and no others', async () => {
    await fill();
    const answer = await f.view.acquire(key, 't', 5_000, true);
    const world = answer.held ? answer.world : null;
    expect(world?.service?.name).toBe('web');
    expect(world?.workloads.map(({ name }) => name)).toEqual(['vm-a']);
    expect(world?.slices.map(({ name }) => name)).toEqual(['web-1']);
  });

  it('takes one round trip, whatever the number of workloads', async () => {
    await fill();
    const many = Array.from({ length: 5_000 }, (_, i) => ({
      op: 'upsert' as const,
      kind: 'workload' as const,
      object: workload(`vm-${i}`, 100 + i),
    }));
    await f.writer.apply(NS, many);
    const answer = await f.view.acquire(key, 't', 5_000, true);
    expect(answer.held && answer.world?.workloads.length).toBe(5_001);
  });

  it('gives nothing while a kind is not in sync', async () => {
    await fill();
    await deleteKeys(f.redis, await keysOf(f.redis, `*${f.prefix}*m:workload`));
    const answer = await f.view.acquire(key, 't', 5_000, true);
    expect(answer).toEqual({ held: true, world: null });
  });

  it('matches every pair of a selector', async () => {
    await f.put('service', service('web', 1, { selector: { app: 'web', live: 'yes' } }));
    await f.put('workload', workload('in', 2, { labels: { app: 'web', live: 'yes', x: 'y' } }));
    await f.put('workload', workload('out', 3, { labels: { app: 'web', live: 'no' } }));
    await f.sync();
    const answer = await f.view.acquire(key, 't', 5_000, true);
    expect(answer.held && answer.world?.workloads.map(({ name }) => name)).toEqual(['in']);
  });

  it('tells a Service that was deleted from one that nobody knows', async () => {
    await fill();
    await f.remove('service', 'web', '9', 'uid-web');
    const deleted = await f.view.acquire(key, 't', 5_000, true);
    const unknown = await f.view.acquire({ ...key, name: 'who' }, 't', 5_000, true);
    expect(deleted.held && deleted.world?.serviceDeleted).toBe(true);
    expect(unknown.held && unknown.world?.serviceDeleted).toBe(false);
  });

  it('takes the deletion of an earlier Service of that name for no word on this one', async () => {
    await f.put('service', service('web', 1, { uid: 'earlier' }));
    await f.remove('service', 'web', '2', 'earlier');
    await f.put('service', service('web', 3));
    await f.put('slice', slice('web-1', 4, 'web'));
    await f.sync();
    await f.redis.hdel(`{${f.prefix}:${NS}}:${VIEW_SCHEMA}:cluster-a.1:service`, 'web');
    const answer = await f.view.acquire(key, 't', 5_000, true);
    expect(answer.held && answer.world).toMatchObject({ service: null, serviceDeleted: false });
  });

  it('tells a workload that was deleted from one that nobody knows', async () => {
    await fill();
    await f.remove('workload', 'vm-a', '9', 'uid-vm-a');
    const ask = ['vm-a', 'vm-b', 'vm-x'].map((name) => ({
      kind: 'workload' as const,
      name,
      uid: `uid-${name}`,
    }));
    expect(await f.view.presence(NS, ask)).toEqual(['deleted', 'known', 'unknown']);
    // Made anew under its name, and then lost from the view.
    const anew = [{ kind: 'workload' as const, name: 'vm-a', uid: 'uid-of-a-later-one' }];
    expect(await f.view.presence(NS, anew)).toEqual(['unknown']);
  });
});

describe('writing through', () => {
  it('makes the echo of an own write no news (A4)', async () => {
    await fill();
    await f.view.acquire(key, 't', 5_000, true);
    await f.view.finish(key, 't', 'ok', [sliceRecord('web-1', 20, 'web')], []);
    expect(await f.put('slice', slice('web-1', 20, 'web'))).toEqual([]);
    expect(await f.put('slice', slice('web-1', 21, 'web'))).toEqual(['web']);
  });

  it('makes the echo of an own deletion no news, and of an update before it (A4)', async () => {
    await fill();
    await f.view.acquire(key, 't', 5_000, true);
    await f.view.finish(key, 't', 'ok', [], [sliceRecord('web-1', 19, 'web')]);
    expect(await f.put('slice', slice('web-1', 19, 'web'))).toEqual([]);
    expect(await f.remove('slice', 'web-1', '20', 'uid-web-1')).toEqual([]);
  });

  it('records nothing after the lock was lost, so that the echo dirties the key', async () => {
    await fill();
    await f.view.acquire(key, 't', 5_000, true);
    await f.view.finish(key, 'stale', 'ok', [sliceRecord('web-1', 20, 'web')], []);
    expect(await f.put('slice', slice('web-1', 20, 'web'))).toEqual(['web']);
  });

  describe('counts failures in a row', () => {
    const run = async (verdict: 'ok' | 'failed' | 'neutral') => {
      await f.view.acquire(key, 't', 5_000, false);
      return (await f.view.finish(key, 't', verdict, [], [])).failures;
    };
    /** When the count last rose, by Redis' clock, becomes so much earlier. */
    const passes = async (ms: number): Promise<void> => {
      await f.redis.hincrby(failuresKey(f.prefix, NS), 'web raised', -ms);
    };

    it('and forgets them at the first success', async () => {
      await run('failed');
      await passes(60_000);
      expect([await run('failed'), await run('neutral')]).toEqual([2, 2]);
      expect([await run('ok'), await run('failed')]).toEqual([0, 1]);
      await run('ok');
      expect(await f.redis.exists(failuresKey(f.prefix, NS))).toBe(0);
    });

    it('but one that comes before half of the last step is over only once', async () => {
      for (let failure = 1; failure <= 11; failure += 1) {
        await run('failed');
        await passes(60_000);
      }
      // The twelfth: a step of a minute.
      expect(await run('failed')).toBe(12);
      expect(await run('failed')).toBe(12);
      await passes(20_000);
      expect(await run('failed')).toBe(12);
      await passes(10_000);
      expect(await run('failed')).toBe(13);
    });

    it('and counts on where the clock of Redis went back, as after a failover', async () => {
      await run('failed');
      await passes(-3_600_000);
      expect(await run('failed')).toBe(2);
    });
  });
});

describe('pending keys', () => {
  it('stay pending until their queue add has returned (guarantee 8)', async () => {
    const applied = await f.writer.apply(NS, [
      { op: 'upsert', kind: 'service', object: service('web', 1) },
    ]);
    expect((await f.writer.overdue(NS, 0)).dirty.map(({ service: s }) => s)).toEqual(['web']);
    await f.writer.settle(NS, applied.score, ['web']);
    expect((await f.writer.overdue(NS, 0)).dirty).toEqual([]);
  });

  it('stay pending when they were dirtied again meanwhile', async () => {
    const first = await f.writer.apply(NS, [
      { op: 'upsert', kind: 'service', object: service('web', 1) },
    ]);
    await f.put('service', service('web', 2, { labels: { a: 'b' } }));
    await f.writer.settle(NS, first.score, ['web']);
    expect((await f.writer.overdue(NS, 0)).dirty).toHaveLength(1);
  });
});

describe('marks', () => {
  it('are not prolonged once Redis lost the data of the namespace', async () => {
    const birth = await f.writer.open(NS);
    expect(await f.writer.heartbeat(NS, birth, 10_000, ['service'])).toBe('marked');
    await f.wipe();
    expect(await f.writer.heartbeat(NS, birth, 10_000, ['service'])).toBe('lost');
  });

  it('are shared by watchers: the second keeps the birth mark of the first', async () => {
    expect(await f.writer.open(NS)).toBe(await f.writer.open(NS));
  });

  it('of a view that was abandoned are gone, and nobody prolongs them any more', async () => {
    const birth = await f.writer.open(NS);
    await f.writer.heartbeat(NS, birth, 10_000, ['service', 'workload', 'slice']);
    const reader = () => f.view.acquire({ namespace: NS, name: 'web' }, 'token', 1, true);
    expect(await reader()).toMatchObject({ world: { service: null } });
    await f.writer.abandon(NS);
    expect(await f.writer.heartbeat(NS, birth, 10_000, ['service'])).toBe('lost');
    await eventually(async () => expect(await reader()).toEqual({ held: true, world: null }));
  });
});

describe('the identity', () => {
  const list = (resourceVersion: string, contradicted = false): NotedList => ({
    kind: 'service',
    resourceVersion,
    contradicted,
  });

  it('begins a new epoch when a list is older than what its watcher had seen before it asked', async () => {
    const store = createIdentityStore(f.redis, f.prefix, 'c');
    const first = await store.observeList(list('100'), await store.history());
    expect(store.identityOf(first)).toBe('c.1');
    const restored = await store.observeList(list('99'), first);
    expect(store.identityOf(restored)).toBe('c.2');
    expect(store.identityOf(await store.observeList(list('120'), restored))).toBe('c.2');
  });

  it('begins a new epoch when the view contradicts a list, however new that is', async () => {
    const store = createIdentityStore(f.redis, f.prefix, 'c');
    const before = await store.observeList(list('100'), await store.history());
    const restored = await store.observeList(list('1000000090', true), before);
    expect(store.identityOf(restored)).toBe('c.2');
  });

  it('is begun once, though every watcher finds out', async () => {
    const store = createIdentityStore(f.redis, f.prefix, 'c');
    const before = await store.observeList(list('100'), await store.history());
    await store.observeList(list('99'), before);
    expect(store.identityOf(await store.observeList(list('98'), before))).toBe('c.2');
    expect(store.identityOf(await store.observeList(list('120', true), before))).toBe('c.2');
  });

  it('stays when two watchers note their lists in another order than they were made', async () => {
    const store = createIdentityStore(f.redis, f.prefix, 'c');
    const before = await store.observeList(list('100'), await store.history());
    await store.observeList(list('250'), before);
    expect(store.identityOf(await store.observeList(list('200'), before))).toBe('c.1');
  });

  it('is told to whoever notes how far its watches are', async () => {
    const store = createIdentityStore(f.redis, f.prefix, 'c');
    const before = await store.observeList(list('100'), await store.history());
    expect(await store.notePositions(before, new Map([['service', '110']]))).toBe('1');
    await store.observeList(list('99'), before);
    expect(await store.notePositions(before, new Map([['service', '']]))).toBe('2');
  });
});
