import { beforeEach, describe, expect, it } from '@jest/globals';
import { Rebuild } from '../../watcher/rebuild.ts';
import { eventually } from '../support/eventually.ts';

/** What was done, in order. */
let done: string[];
/** Adds that the queue has yet to answer. */
let adds: PromiseWithResolvers<undefined>[];
let ready: PromiseWithResolvers<undefined>;
let stopped: boolean;
let rebuild: Rebuild;
beforeEach(() => {
  done = [];
  adds = [];
  ready = Promise.withResolvers();
  stopped = false;
  rebuild = new Rebuild({
    ready: () => ready.promise,
    relist: async () => void done.push('list'),
    keys: async () => [{ namespace: 'a', name: `web-${done.length}` }],
    queue: {
      addResync: (some) => {
        done.push(...some.map(({ key }) => key.name));
        const add = Promise.withResolvers<undefined>();
        adds.push(add);
        return add.promise;
      },
    },
    stopped: () => stopped,
    now: () => 0,
  });
});

const added = (count: number): Promise<void> => eventually(() => expect(adds).toHaveLength(count));

describe('filling the view anew', () => {
  beforeEach(() => ready.resolve(undefined));

  it('lists everything, and then enqueues what the lists brought', async () => {
    const running = rebuild.run('lost');
    await added(1);
    adds[0]?.resolve(undefined);
    await running;
    expect(done).toEqual(['list', 'web-1']);
  });

  it('is done once more, the keys too, when Redis loses data while they are enqueued', async () => {
    const running = rebuild.run('lost');
    await added(1);
    const second = rebuild.run('lost again');
    adds[0]?.resolve(undefined);
    await added(2);
    adds[1]?.resolve(undefined);
    await Promise.all([running, second]);
    expect(done).toEqual(['list', 'web-1', 'list', 'web-3']);
  });

  it('begins anew for whoever asks once it has failed', async () => {
    const running = rebuild.run('lost');
    await added(1);
    adds[0]?.reject(new Error('Redis is away'));
    await expect(running).rejects.toThrow('Redis is away');
    const second = rebuild.run('lost');
    await added(2);
    adds[1]?.resolve(undefined);
    await second;
    expect(done).toEqual(['list', 'web-1', 'list', 'web-3']);
  });

  it('is not done again by a watcher that stops', async () => {
    const running = rebuild.run('lost');
    await added(1);
    const second = rebuild.run('lost again');
    stopped = true;
    adds[0]?.resolve(undefined);
    await Promise.all([running, second]);
    expect(done).toEqual(['list', 'web-1']);
  });
});

it('is done once, whatever is lost before the first lists are there', async () => {
  const all = [rebuild.run('lost'), rebuild.run('lost again')];
  ready.resolve(undefined);
  await added(1);
  adds[0]?.resolve(undefined);
  await Promise.all(all);
  expect(done).toEqual(['list', 'web-1']);
});
