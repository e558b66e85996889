import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ViewClosedError } from '../../../platform/redis/clusters/cluster-view-writer.ts';
import { FC_PARAMETERS } from '../../unit/plan/support/arbitraries.ts';
import {
  aService,
  aSlice,
  aWorkload,
  CLUSTER,
  gone,
  openClusterFixture,
  type ClusterFixture,
} from './fixture.ts';

let fixture: ClusterFixture;

beforeEach(async () => {
  fixture = await openClusterFixture();
});
afterEach(() => fixture.close());

const rvOf = async (kind: 'service' | 'slice' | 'workload', key: string, generation = 1) =>
  (await fixture.records(generation, kind))[key]?.split('\n')[0];

describe('a version of an object', () => {
  it('is taken when it is newer, and only then', async () => {
    const view = await fixture.serving(1);
    await view.apply([aService('shop/web', '9')]);
    expect(await view.apply([aService('shop/web', '10')])).toMatchObject({
      accepted: 1,
      objects: 1,
    });
    expect(await view.apply([aService('shop/web', '9', 81)])).toMatchObject({ accepted: 0 });
    expect(await view.apply([aService('shop/web', '10', 81)])).toMatchObject({ accepted: 0 });
    expect(await rvOf('service', 'shop/web')).toBe('10');
  });

  it('does not come back once a newer deletion was told', async () => {
    const view = await fixture.serving(1);
    await view.apply([aSlice('shop/web-1', '5', 'shop/web')]);
    expect(await view.apply([gone('slice', 'shop/web-1', '7')])).toMatchObject({ objects: 0 });
    expect(await view.apply([aSlice('shop/web-1', '6', 'shop/web')])).toMatchObject({
      accepted: 0,
    });
    expect(await view.apply([aSlice('shop/web-1', '8', 'shop/web')])).toMatchObject({
      accepted: 1,
    });
  });

  it('does not come before its deletion, whichever arrives first', async () => {
    const view = await fixture.serving(1);
    await view.apply([gone('workload', 'shop/vm', '7')]);
    expect(await view.apply([aWorkload('shop/vm', '6')])).toMatchObject({ accepted: 0 });
  });

  it('outlives a deletion that is older, such as that of a list', async () => {
    const view = await fixture.serving(1);
    await view.apply([aService('shop/web', '9')]);
    expect(await view.apply([gone('service', 'shop/web', '8')])).toMatchObject({ accepted: 0 });
    expect(await rvOf('service', 'shop/web')).toBe('9');
  });

  it('is the newest whatever the order of arrival', async () => {
    const step = fc.record({ rv: fc.integer({ min: 1, max: 12 }), there: fc.boolean() });
    let at = 0;
    const view = await fixture.serving(1);
    const converges = fc.asyncProperty(
      fc.uniqueArray(step, { selector: ({ rv }) => rv, minLength: 1 }),
      async (history) => {
        const key = `shop/web-${(at += 1)}`;
        for (const { rv, there } of history) {
          const change = there
            ? aSlice(key, String(rv), 'shop/web')
            : gone('slice', key, String(rv));
          await view.apply([change]);
        }
        const newest = history.toSorted((a, b) => b.rv - a.rv)[0];
        const left = newest?.there === true ? String(newest.rv) : undefined;
        expect(await rvOf('slice', key)).toBe(left);
        const filed = await fixture.slicesOf(1, 'shop/web');
        expect(filed.includes(key)).toBe(left !== undefined);
      },
    );
    await fc.assert(converges, { ...FC_PARAMETERS, numRuns: Math.min(60, FC_PARAMETERS.numRuns) });
  });
});

describe('what changed is told to those who look up', () => {
  it('by Service and workload, a slice by its Service', async () => {
    const view = await fixture.serving(1);
    await fixture.told();
    await view.apply([aSlice('shop/web-1', '2', 'shop/web'), aService('shop/web', '3')]);
    await view.apply([aWorkload('shop/vm', '4')]);
    expect(await fixture.told()).toEqual([
      [CLUSTER, 1, ['shop/web'], []],
      [CLUSTER, 1, [], ['shop/vm']],
    ]);
  });

  it('not where only the version is new (report 93)', async () => {
    const view = await fixture.serving(1);
    await view.apply([aSlice('shop/web-1', '2', 'shop/web')]);
    await fixture.told();
    const again = await view.apply([aSlice('shop/web-1', '3', 'shop/web')]);
    expect(again).toMatchObject({ accepted: 1, changed: 0 });
    expect(await rvOf('slice', 'shop/web-1')).toBe('3');
    expect(await fixture.told()).toEqual([]);
  });

  it('to both Services when a slice goes from one to the other', async () => {
    const view = await fixture.serving(1);
    await view.apply([aSlice('shop/web-1', '2', 'shop/web')]);
    await fixture.told();
    await view.apply([aSlice('shop/web-1', '3', 'shop/api')]);
    const [message] = (await fixture.told()) as [string, number, string[], string[]][];
    expect(message?.[2].toSorted()).toEqual(['shop/api', 'shop/web']);
    expect(await fixture.slicesOf(1, 'shop/web')).toEqual([]);
    expect(await fixture.slicesOf(1, 'shop/api')).toEqual(['shop/web-1']);
  });

  it('as everything when it is a lot', async () => {
    const view = await fixture.serving(1);
    await fixture.told();
    await view.apply(Array.from({ length: 501 }, (_, at) => aService(`shop/s-${at}`, '5')));
    expect(await fixture.told()).toEqual([[CLUSTER, 1, 'all']]);
  });

  it('not of a generation that nobody reads yet', async () => {
    await fixture.serving(1);
    await fixture.told();
    const next = fixture.writer(2);
    await next.open();
    await next.apply([aService('shop/web', '3')]);
    expect(await fixture.told()).toEqual([]);
  });
});

describe('a full view', () => {
  it('takes no more objects, but goes on with those that it has', async () => {
    const view = fixture.writer(1, 2);
    await view.open();
    const objects = [aService('shop/a', '1'), aService('shop/b', '2'), aService('shop/c', '3')];
    expect(await view.apply(objects)).toMatchObject({ over: 1, objects: 2 });
    expect(await view.apply([aService('shop/a', '4', 81)])).toMatchObject({ over: 0, changed: 1 });
    await view.apply([gone('service', 'shop/a', '5')]);
    expect(await view.apply([aService('shop/c', '6')])).toMatchObject({ over: 0, objects: 2 });
  });
});

describe('the comparison after a list', () => {
  it('gets every name, and no records', async () => {
    const view = await fixture.serving(1);
    const names = Array.from({ length: 900 }, (_, at) => `shop/s-${at}`);
    await view.apply(names.map((name) => aService(name, '5')));
    const known = new Set<string>();
    for await (const some of view.known('service')) for (const name of some) known.add(name);
    expect([...known].toSorted()).toEqual(names.toSorted());
  });

  it('is told by which version the view knew better', async () => {
    const view = await fixture.serving(1);
    await view.apply([aService('shop/a', '20'), aService('shop/b', '30')]);
    const listed = [aService('shop/a', '11'), aService('shop/b', '12')];
    expect(await view.apply(listed)).toMatchObject({ contradicted: '20' });
    expect(await view.apply([aService('shop/a', '20')])).toMatchObject({ contradicted: '' });
  });

  it('finds the positions that were reached before', async () => {
    const view = await fixture.serving(1);
    await view.apply([aService('shop/a', '20'), gone('slice', 'shop/x', '25')]);
    await view.markSynced('workload', '22');
    const { positions, synced } = await fixture.writer(1).open();
    expect(Object.fromEntries(positions)).toEqual({ service: '20', slice: '25', workload: '22' });
    expect([...synced].toSorted()).toEqual(['service', 'slice', 'workload']);
  });
});

describe('a generation', () => {
  it('serves once every kind was listed, and tells so', async () => {
    const view = fixture.writer(3);
    await view.open();
    await view.markSynced('service', '5');
    await view.markSynced('slice', '6');
    expect(await view.isSynced()).toBe(false);
    expect(await view.promote()).toBe(false);
    await view.markSynced('workload', '');
    expect(await view.isSynced()).toBe(true);
    expect(await view.promote()).toBe(true);
    expect(await fixture.purger.serving(CLUSTER)).toBe(3);
    expect(await fixture.told()).toEqual([[CLUSTER, 3, 'all']]);
  });

  it('never takes the place of a newer one (report 67)', async () => {
    const old = await fixture.serving(1);
    await old.apply([aService('shop/web', '5')]);
    const newer = await fixture.serving(2);
    await newer.apply([aService('shop/web', '6')]);
    expect(await old.promote()).toBe(false);
    expect(await fixture.purger.serving(CLUSTER)).toBe(2);
    await expect(fixture.writer(1).open()).rejects.toThrow(ViewClosedError);
  });

  it('that is late can neither write nor purge what is newer (report 67)', async () => {
    const old = await fixture.serving(1);
    const newer = await fixture.serving(2);
    await newer.apply([aService('shop/web', '6')]);
    await fixture.purger.purgeOlder(CLUSTER);
    await expect(old.apply([aService('shop/web', '99', 81)])).rejects.toThrow(ViewClosedError);
    await expect(old.markSynced('service', '99')).rejects.toThrow(ViewClosedError);
    await fixture.purger.purge(CLUSTER, 1);
    await fixture.purger.purge(CLUSTER, 2);
    expect(await rvOf('service', 'shop/web', 2)).toBe('6');
    expect((await fixture.keys()).filter((key) => key.includes(':v1:1:'))).toEqual([]);
  });

  it('that is purged leaves nothing behind', async () => {
    const view = fixture.writer(1);
    await view.open();
    const slices = Array.from({ length: 1_500 }, (_, at) =>
      aSlice(`shop/web-${at}`, '5', `shop/s-${at % 700}`),
    );
    await view.apply([...slices, aService('shop/web', '6'), aWorkload('shop/vm', '7')]);
    await view.apply([gone('slice', 'shop/web-0', '9'), gone('service', 'shop/none', '9')]);
    await fixture.purger.purge(CLUSTER, 1);
    expect(await fixture.keys()).toEqual([]);
  });
});

describe('a cluster that is gone', () => {
  it('leaves nothing behind, and is told to be gone', async () => {
    const view = await fixture.serving(1);
    await view.apply([aSlice('shop/web-1', '5', 'shop/web')]);
    await fixture.writer(2).open();
    await fixture.told();
    await fixture.purger.purgeCluster(CLUSTER, 2);
    expect(await fixture.told()).toEqual([[CLUSTER, 0, 'gone']]);
    await expect(view.apply([aSlice('shop/web-1', '9', 'shop/web')])).rejects.toThrow(
      ViewClosedError,
    );
    expect(await view.promote()).toBe(false);
    expect(await fixture.keys()).toEqual([]);
  });

  it('takes nothing from one that was linked anew since', async () => {
    await fixture.serving(1);
    const anew = await fixture.serving(5);
    await anew.apply([aService('shop/web', '6')]);
    await fixture.told();
    await fixture.purger.purgeCluster(CLUSTER, 4);
    expect(await fixture.purger.serving(CLUSTER)).toBe(5);
    expect(await rvOf('service', 'shop/web', 5)).toBe('6');
    expect(await fixture.told()).toEqual([]);
  });
});
