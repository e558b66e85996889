import { expect, test } from '@jest/globals';
import { Cache } from '../../../lookup/cache.ts';
import type { ServiceReading } from '../../../platform/redis/clusters/cluster-view-reader.ts';
import { endpoint, endpointsIn, service, slice, targetRef } from './builders.ts';

/** A view whose readings end when the test says so, each with what it held when it began. */
function slowView() {
  let addresses = ['10.0.0.1'];
  let generation = 1;
  let missing = false;
  let listening = true;
  let time = 0;
  const open: ((error?: Error) => void)[] = [];
  const read = (): ServiceReading => {
    const endpoints = addresses.map((address) =>
      endpoint(address, { targetRef: targetRef('ExternalWorkload', 'vm') }),
    );
    return {
      generation,
      service: missing ? null : service(),
      slices: missing ? [] : [slice({ endpoints })],
      workloads: new Map(),
      refersTo: missing ? [] : ['shop/vm'],
    };
  };
  const cache = new Cache({
    reader: {
      readService: () => {
        const reading = read();
        const { promise, resolve, reject } = Promise.withResolvers<ServiceReading>();
        open.push((error) => (error === undefined ? resolve(reading) : reject(error)));
        return promise;
      },
    },
    listening: () => listening,
    monotonicMs: () => time,
  });
  const changed = (of = generation): void =>
    cache.changed({
      what: 'some',
      cluster: 'east',
      generation: of,
      services: ['shop/web'],
      workloads: [],
    });
  return {
    cache,
    entry: () => cache.entry('east', 'shop/web'),
    changed,
    become: (...next: string[]) => void (addresses = next),
    promote: () => void (generation += 1),
    remove: () => void (missing = true),
    lose: () => void (generation = 0),
    deafen: (deaf: boolean) => void (listening = !deaf),
    pass: (ms: number) => void (time += ms),
    readings: () => open.length,
    /** Ends the oldest reading, and lets what waits for it run. */
    end: async (error?: Error): Promise<void> => {
      open.shift()?.(error);
      await settle();
    },
    settle,
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const addressesOf = (view: ReturnType<typeof slowView>): string[] => {
  const { set } = view.entry();
  return set === null ? [] : endpointsIn(set).map(({ address }) => address);
};

async function done(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), settle().then(() => false)]);
}

/** A view with one Service that was read once. */
async function readOnce() {
  const view = slowView();
  const first = view.cache.refresh(view.entry());
  await view.settle();
  await view.end();
  await first;
  expect(addressesOf(view)).toEqual(['10.0.0.1']);
  return view;
}

test('what was read is at hand until it changes', async () => {
  const view = await readOnce();
  expect(view.cache.isFresh(view.entry())).toBe(true);
  view.changed();
  expect(view.cache.isFresh(view.entry())).toBe(false);
});

test('all who ask for one Service at once share one reading', async () => {
  const view = slowView();
  const all = Array.from({ length: 50 }, () => view.cache.refresh(view.entry()));
  await view.settle();
  expect(view.readings()).toBe(1);
  await view.end();
  await Promise.all(all);
});

test('a change that comes during a reading is read once more before anybody is answered', async () => {
  const view = await readOnce();
  view.changed();
  const before = view.cache.refresh(view.entry());
  await view.settle();
  view.become('10.0.0.2');
  view.changed();
  const after = view.cache.refresh(view.entry());
  await view.end();
  expect(await done(before)).toBe(true);
  expect(await done(after)).toBe(false);
  expect(view.readings()).toBe(1);
  await view.end();
  await after;
  expect(addressesOf(view)).toEqual(['10.0.0.2']);
});

test('who watches hears of every change, and the last of a burst is what is known', async () => {
  const view = await readOnce();
  const heard: string[][] = [];
  view.entry().onChange(() => heard.push(addressesOf(view)));
  for (const address of ['10.0.0.2', '10.0.0.3', '10.0.0.4']) {
    view.become(address);
    view.changed();
  }
  await view.settle();
  expect(view.readings()).toBe(1);
  view.become('10.0.0.5');
  view.changed();
  await view.end();
  await view.end();
  expect(heard).toEqual([['10.0.0.4'], ['10.0.0.5']]);
  expect(view.readings()).toBe(0);
});

test('a change that makes no difference is told to nobody', async () => {
  const view = await readOnce();
  const { set } = view.entry();
  let heard = 0;
  view.entry().onChange(() => (heard += 1));
  view.changed();
  await view.settle();
  await view.end();
  expect([heard, view.entry().set === set]).toEqual([0, true]);
});

test('a generation that is filled beside the served one changes nothing until it is served', async () => {
  const view = await readOnce();
  view.changed(2);
  expect(view.cache.isFresh(view.entry())).toBe(true);
  view.promote();
  view.cache.changed({ what: 'all', cluster: 'east', generation: 2 });
  expect(view.cache.isFresh(view.entry())).toBe(false);
});

test('a change of an ExternalWorkload concerns the Services that refer to it', async () => {
  const view = await readOnce();
  const of = { what: 'some', cluster: 'east', generation: 1, services: [] } as const;
  view.cache.changed({ ...of, workloads: ['shop/other'] });
  expect(view.cache.isFresh(view.entry())).toBe(true);
  view.cache.changed({ ...of, workloads: ['shop/vm'] });
  expect(view.cache.isFresh(view.entry())).toBe(false);
});

test('an ExternalWorkload that changes during the first reading is read once more', async () => {
  const view = slowView();
  const workloads = (key: string): void =>
    view.cache.changed({
      what: 'some',
      cluster: 'east',
      generation: 1,
      services: [],
      workloads: [key],
    });
  const first = view.cache.refresh(view.entry());
  await view.settle();
  workloads('shop/other');
  await view.end();
  await first;
  expect(view.cache.isFresh(view.entry())).toBe(true);
  view.pass(700_000);
  view.cache.tick();
  const before = view.cache.refresh(view.entry());
  await view.settle();
  workloads('shop/vm');
  const after = view.cache.refresh(view.entry());
  await view.end();
  expect([await done(before), await done(after)]).toEqual([true, false]);
  await view.end();
  await after;
  expect([view.cache.isFresh(view.entry()), view.readings()]).toEqual([true, 0]);
});

test('who watches is told of an ExternalWorkload that changed while its Service was read', async () => {
  const view = slowView();
  const heard: string[][] = [];
  view.entry().onChange(() => heard.push(addressesOf(view)));
  void view.cache.refresh(view.entry());
  await view.settle();
  view.become('10.0.0.2');
  const of = { what: 'some', cluster: 'east', generation: 1, services: [] } as const;
  view.cache.changed({ ...of, workloads: ['shop/vm'] });
  await view.end();
  await view.end();
  expect(heard).toEqual([['10.0.0.1'], ['10.0.0.2']]);
});

test('what nothing was heard of for half a minute is read again when it is asked for', async () => {
  const view = await readOnce();
  view.pass(30_001);
  view.become('10.0.0.2');
  expect(view.cache.isFresh(view.entry())).toBe(false);
  const reading = view.cache.refresh(view.entry());
  await view.settle();
  await view.end();
  await reading;
  expect([addressesOf(view), view.cache.isFresh(view.entry())]).toEqual([['10.0.0.2'], true]);
});

test('a reading that fails leaves what was known, and is tried again', async () => {
  const view = await readOnce();
  let heard = 0;
  view.entry().onChange(() => (heard += 1));
  view.changed();
  await view.settle();
  await view.end(new Error('Redis is away'));
  expect([addressesOf(view), view.entry().failure, heard]).toEqual([
    ['10.0.0.1'],
    'Redis is away',
    1,
  ]);
  view.become('10.0.0.9');
  view.cache.tick();
  await view.settle();
  await view.end();
  expect([addressesOf(view), view.entry().failure, heard]).toEqual([['10.0.0.9'], '', 2]);
});

test('while changes may go by unheard, every look-up reads', async () => {
  const view = await readOnce();
  view.deafen(true);
  for (const address of ['10.0.0.2', '10.0.0.3']) {
    view.become(address);
    expect(view.cache.isFresh(view.entry())).toBe(false);
    const reading = view.cache.refresh(view.entry());
    await view.settle();
    await view.end();
    await reading;
    expect(addressesOf(view)).toEqual([address]);
  }
});

test('a view that lost what it held leaves the last known set, marked (report 73)', async () => {
  const view = await readOnce();
  view.lose();
  view.cache.missed();
  const reading = view.cache.refresh(view.entry());
  await view.settle();
  await view.end();
  await reading;
  expect(addressesOf(view)).toEqual(['10.0.0.1']);
  expect(view.entry().current).toBe(false);
});

test('what is read while its cluster is forgotten is of no use, and is read anew', async () => {
  const view = await readOnce();
  const heard: string[][] = [];
  view.entry().onChange(() => heard.push(addressesOf(view)));
  view.changed();
  await view.settle();
  view.cache.forget('east');
  view.lose();
  await view.end();
  expect([view.entry().known, addressesOf(view), heard]).toEqual([false, [], []]);
  // Another cluster has the name, and is not in sync yet.
  await view.end();
  expect([view.entry().known, addressesOf(view)]).toEqual([false, []]);
});

test('who waits for a reading while the cluster is forgotten gets what was read afterwards', async () => {
  const view = slowView();
  const reading = view.cache.refresh(view.entry());
  await view.settle();
  view.cache.forget('east');
  view.become('10.0.0.2');
  await view.end();
  expect(await done(reading)).toBe(false);
  await view.end();
  await reading;
  expect(addressesOf(view)).toEqual(['10.0.0.2']);
});

test('what nobody needs any more is let go of, at once where there is no such Service', async () => {
  const view = await readOnce();
  view.cache.tick();
  expect(view.cache.size()).toEqual({ services: 1, endpoints: 1 });
  view.pass(700_000);
  view.cache.tick();
  expect(view.cache.size().services).toBe(0);
  view.remove();
  const old = view.entry();
  const reading = view.cache.refresh(old);
  await view.settle();
  await view.end();
  await reading;
  expect([old.known, old.set]).toEqual([true, null]);
  view.cache.tick();
  expect(view.entry()).not.toBe(old);
});
