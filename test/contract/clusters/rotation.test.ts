import { describe, expect, it } from '@jest/globals';
import { membersKey, generationKey } from '../../../platform/redis/clusters/keys.ts';
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
    await eventually(() => expect(east.openSockets).toBe(0));
    expect(watcher.counts()).toEqual([]);
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
        [generationKey(rig.prefix), membersKey(rig.prefix)].toSorted(),
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
