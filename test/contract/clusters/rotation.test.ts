import { describe, expect, it } from '@jest/globals';
import {
  generationCountKey,
  generationKey,
  membersKey,
} from '../../../platform/redis/clusters/keys.ts';
import { createClusterMembers } from '../../../platform/redis/clusters/members.ts';
import type { ApiDouble } from '../../support/api-double.ts';
import { eventually } from '../../support/eventually.ts';
import { linkedRig, watchesBecome, webSlice } from '../../support/linked-rig.ts';
import { held, refuse, type Behaviour } from '../../support/misbehaving-api.ts';

const rig = linkedRig();

const FORTY = Array.from({ length: 40 }, (_, at) => `10.1.0.${at + 1}`).toSorted();

/** A cluster with forty endpoints, linked and in sync. */
async function linkedEast(): Promise<{ east: ApiDouble; generation: number }> {
  const east = await rig.cluster();
  for (let at = 0; at < 4; at++) {
    east.put('endpointslices', webSlice(`web-${at}`, FORTY.slice(at * 10, at * 10 + 10)));
  }
  const generation = await rig.link('east', east);
  await rig.watchBecomes('east', { serving: generation, healthy: true });
  return { east, generation };
}

/** Requests with this token are answered in this way, all others properly. */
const forToken =
  (token: string, behaviour: Behaviour): Behaviour =>
  (request, response, proceed) => {
    if (request.headers.authorization === `Bearer ${token}`) behaviour(request, response, proceed);
    else proceed();
  };

/** Reads without a pause until `until` resolves; gives the fewest endpoints that were ever read. */
async function fewestWhile(until: Promise<unknown>): Promise<number> {
  let over = false;
  let fewest = Infinity;
  void until.finally(() => (over = true)).catch(() => undefined);
  while (!over) fewest = Math.min(fewest, (await rig.read('east')).ips.length);
  await until;
  return fewest;
}

describe('a new content of the Secret', () => {
  it('takes the place of the old one without a gap (report 66)', async () => {
    rig.watcher();
    const { east } = await linkedEast();
    east.users.set('new', { name: 'new' });
    const gate = held();
    east.misbehave(forToken('new', gate.behaviour));
    const switched = (async () => {
      const next = await rig.link('east', { url: east.url, token: 'new' });
      await rig.watchBecomes('east', { working: next, healthy: true });
      east.put('endpointslices', webSlice('web-4', ['10.1.1.1']));
      // The old watch still stands for the answers.
      await rig.becomes('east', [...FORTY, '10.1.1.1']);
      gate.release();
      east.misbehave(undefined);
      await rig.watchBecomes('east', { serving: next, working: next, healthy: true });
    })();
    expect(await fewestWhile(switched)).toBeGreaterThanOrEqual(40);
    await watchesBecome(east, 3);
    expect(east.watchesBy('new')).toBe(3);
    await rig.becomes('east', [...FORTY, '10.1.1.1']);
  });

  it('that never syncs leaves the old one in its place, and says why (report 66)', async () => {
    rig.watcher();
    const { east, generation } = await linkedEast();
    const next = await rig.link('east', { url: east.url, token: 'nobody' });
    const reason = expect.stringMatching(/does not come in sync.*401/) as unknown as string;
    await rig.watchBecomes('east', { serving: generation, working: next, healthy: true, reason });
    east.put('endpointslices', webSlice('web-0', []));
    await rig.becomes('east', FORTY.slice(10));
  });

  it('after a new content leaves the state of the newest, however late the first ends (report 67)', async () => {
    const gate = Promise.withResolvers<undefined>();
    const late: number[] = [];
    const { purger } = rig;
    rig.watcher({
      purger: {
        ...purger,
        purge: async (cluster, generation) => {
          late.push(generation);
          await gate.promise;
          await purger.purge(cluster, generation);
        },
      },
    });
    const { east } = await linkedEast();
    await rig.link('east', east);
    const newest = await rig.link('east', east);
    await rig.watchBecomes('east', { serving: newest, healthy: true });
    expect(late.length).toBeGreaterThan(0);
    gate.resolve(undefined);
    await eventually(async () => {
      const views = (await rig.keys()).filter((key) => key.includes(':v1:'));
      expect(views.filter((key) => !key.includes(`:v1:${newest}:`))).toEqual([]);
    });
    expect(await rig.read('east')).toEqual({ generation: newest, ips: FORTY });
    await watchesBecome(east, 3);
  });

  it('ends what an earlier one still waits for at once (report 74)', async () => {
    rig.watcher();
    const hole = await rig.cluster();
    hole.misbehave(() => undefined);
    await rig.link('east', hole);
    await eventually(() => expect(hole.openSockets).toBeGreaterThan(0));
    const { generation } = await linkedEast();
    expect(await rig.read('east')).toEqual({ generation, ips: FORTY });
    await eventually(() => expect(hole.openSockets).toBe(0));
  });

  it('brings a cluster back whose token had died while it was watched (report 65)', async () => {
    rig.watcher();
    const { east, generation } = await linkedEast();
    east.users.clear();
    east.cut();
    const reason = expect.stringMatching('401') as unknown as string;
    await rig.watchBecomes('east', { serving: generation, healthy: false, reason });
    expect((await rig.read('east')).ips).toEqual(FORTY);
    east.users.set('new', { name: 'new' });
    let refused = 0;
    east.misbehave((request, _response, proceed) => {
      if (request.headers.authorization !== 'Bearer new') refused += 1;
      proceed();
    });
    const next = await rig.link('east', { url: east.url, token: 'new' });
    await rig.watchBecomes('east', { serving: next, healthy: true, reason: '' });
    await eventually(async () => {
      const before = refused;
      await rig.watchBecomes('east', { at: expect.anything() as never });
      const { at = 0 } = (await rig.watch('east')) ?? {};
      await eventually(async () => expect((await rig.watch('east'))?.at).toBeGreaterThan(at));
      expect(refused).toBe(before);
    });
  });

  it('a hundred times over leaves one set of watches, and none after the end (report 77)', async () => {
    const watcher = rig.watcher();
    const { east } = await linkedEast();
    let last = 0;
    for (let times = 0; times < 100; times++) last = await rig.link('east', east);
    await rig.watchBecomes('east', { serving: last, healthy: true });
    await watchesBecome(east, 3);
    await rig.unlink('east');
    await watchesBecome(east, 0);
    // Sooner than an idle connection ends by itself, which takes half a minute.
    await eventually(() => expect(east.openSockets).toBe(0), { timeoutMs: 15_000 });
    expect(watcher.counts()).toEqual([]);
  });
});

describe('a new content whose number is lower than that of what serves', () => {
  it('is served all the same: the owner had taken a number before it knew of it', async () => {
    rig.watcher({ resyncMs: 1_500 });
    const { east, generation } = await linkedEast();
    const late = await rig.registry.nextGeneration();
    // The owner takes a number by itself.
    east.store.goBackTo(50);
    east.put('endpointslices', webSlice('web-0', FORTY.slice(0, 10)));
    const { serving } = await eventually(async () => {
      const watch = await rig.watch('east');
      expect(watch?.serving).toBeGreaterThan(generation);
      return watch as NonNullable<typeof watch>;
    });
    expect(late).toBeLessThan(serving);
    const other = await rig.cluster();
    other.put('endpointslices', webSlice('web-0', ['10.2.0.1']));
    await rig.link('east', { url: other.url, generation: late });
    const after = await rig.becomes('east', ['10.2.0.1']);
    expect(after.generation).toBeGreaterThan(serving);
    await watchesBecome(east, 0);
    await watchesBecome(other, 3);
  });

  it('is served all the same: Redis was restored from an older snapshot', async () => {
    rig.watcher();
    const { east, generation } = await linkedEast();
    await rig.redis.set(generationKey(rig.prefix), generation - 1_000);
    const other = await rig.cluster();
    other.put('endpointslices', webSlice('web-0', ['10.2.0.1']));
    const next = await rig.link('east', other);
    expect(next).toBeGreaterThan(generation);
    await rig.becomes('east', ['10.2.0.1']);
    await watchesBecome(east, 0);
  });
});

describe('the numbers of contents', () => {
  it('come once each, grow, and fit into a JavaScript number', async () => {
    const take = (): Promise<number> => rig.registry.nextGeneration();
    const numbers = await Promise.all(Array.from({ length: 200 }, take));
    expect(new Set(numbers).size).toBe(200);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(numbers.every(Number.isSafeInteger)).toBe(true);
    expect(await rig.registry.lastGeneration()).toBe(numbers.at(-1));
    expect(await rig.registry.generations()).toBe(200);
  });

  it('grow on where Redis lost them', async () => {
    const before = await rig.registry.nextGeneration();
    await rig.redis.del(generationKey(rig.prefix), generationCountKey(rig.prefix));
    expect(await rig.registry.generations()).toBe(0);
    await eventually(async () =>
      expect(await rig.registry.nextGeneration()).toBeGreaterThan(before),
    );
    // A clock that is behind makes no difference while they are known.
    await rig.redis.set(generationKey(rig.prefix), 4_000_000_000_000);
    expect(await rig.registry.nextGeneration()).toBe(4_000_000_000_001);
  });
});

describe('the end of a watcher', () => {
  it('is one even while Redis does not take a purge that is under way', async () => {
    const purge = Promise.withResolvers<void>();
    let purging = false;
    const purgeCluster = (): Promise<void> => {
      purging = true;
      return purge.promise;
    };
    const members = createClusterMembers(rig.redis, rig.prefix);
    const leave = async (id: string): Promise<void> => {
      await members.leave(id);
      // By then the watcher waits for its purges.
      setImmediate(() => purge.reject(new Error('Redis is away')));
    };
    const purger = { ...rig.purger, purgeCluster };
    const watcher = rig.watcher({ purger, members: { ...members, leave } });
    const { east } = await linkedEast();
    await rig.unlink('east');
    await eventually(() => expect(purging).toBe(true));
    await watcher.stop();
    await watchesBecome(east, 0);
  });
});

describe('a cluster whose Secret is gone', () => {
  it('is watched and kept no longer, not even by a watcher that came later (report 70)', async () => {
    const first = rig.watcher();
    const { east } = await linkedEast();
    await first.stop();
    await rig.unlink('east');
    expect((await rig.read('east')).ips).toEqual(FORTY);
    const watcher = rig.watcher();
    await eventually(async () => expect((await rig.read('east')).generation).toBe(0));
    await eventually(async () =>
      expect((await rig.keys()).toSorted()).toEqual(
        [generationCountKey, generationKey, membersKey].map((key) => key(rig.prefix)).toSorted(),
      ),
    );
    expect(east.openWatches).toBe(0);
    expect(watcher.counts()).toEqual([]);
  });

  it('ends at once even where the cluster does not answer', async () => {
    rig.watcher();
    const { east } = await linkedEast();
    const hole = await rig.cluster();
    hole.misbehave(() => undefined);
    await rig.link('east', hole);
    await eventually(() => expect(hole.openSockets).toBeGreaterThan(0));
    await rig.unlink('east');
    await eventually(() => expect(hole.openSockets + east.openSockets).toBe(0));
    await eventually(async () => expect(await rig.watch('east')).toBeUndefined());
  });

  it('answers on while its name goes to another Secret that waited for it', async () => {
    rig.watcher();
    const { east } = await linkedEast();
    const other = await rig.cluster();
    other.put('endpointslices', webSlice('web-0', FORTY));
    await rig.contest('east', 'heir');
    const handedOver = (async () => {
      await rig.unlink('east');
      await watchesBecome(east, 0);
      const next = await rig.link('east', other, 'heir');
      await rig.watchBecomes('east', { serving: next, healthy: true });
    })();
    expect(await fewestWhile(handedOver)).toBe(40);
  });

  it('can be linked again, under a generation of its own', async () => {
    rig.watcher();
    const { east, generation } = await linkedEast();
    await rig.unlink('east');
    const again = await rig.link('east', east);
    expect(again).toBeGreaterThan(generation);
    await rig.watchBecomes('east', { serving: again, healthy: true });
    expect(await rig.read('east')).toEqual({ generation: again, ips: FORTY });
    await watchesBecome(east, 3);
  });
});

describe('a refusal', () => {
  it('of the watch alone marks the answers as stale, and they stay', async () => {
    rig.watcher();
    const { east, generation } = await linkedEast();
    east.misbehave(refuse(500));
    east.cut();
    const reason = expect.stringMatching('500') as unknown as string;
    await rig.watchBecomes('east', { serving: generation, healthy: false, reason });
    expect((await rig.read('east')).ips).toEqual(FORTY);
    east.misbehave(undefined);
    await rig.watchBecomes('east', { healthy: true, reason: '' });
  });
});
