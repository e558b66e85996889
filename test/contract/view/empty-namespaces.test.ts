import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { namespacesKey, viewBase } from '../../../platform/redis/view/keys.ts';
import { createViewWriter } from '../../../platform/redis/view/view-writer.ts';
import { keysOf } from '../../support/redis.ts';
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
let birth: string;
beforeEach(async () => {
  f = openFixture();
  birth = await f.writer.open(NS);
});
afterEach(() => f.close());

const KINDS = ['service', 'workload', 'slice'] as const;
const beat = (mark = birth) => f.writer.heartbeat(NS, mark, 60_000, KINDS);

/** The namespace was in use; nothing is in it any more, and nothing is pending. */
async function useAndEmpty(): Promise<void> {
  await f.put('service', service('web', 1));
  await f.put('workload', workload('vm', 2));
  await f.put('slice', slice('web-1', 3, 'web'));
  await beat();
  await f.remove('slice', 'web-1', '4', 'uid-web-1');
  await f.remove('workload', 'vm', '5', 'uid-vm');
  await f.remove('service', 'web', '6', 'uid-web');
  await settleAll();
}

async function settleAll(): Promise<void> {
  const { dirty, score } = await f.writer.overdue(NS, 0);
  const names = dirty.map(({ service: name }) => name);
  await f.writer.settle(NS, score, names);
}

/** Names of the namespace's keys that stay for good. */
async function lastingKeys(): Promise<string[]> {
  const base = viewBase(f.writer.keys, NS);
  const all = await keysOf(f.redis, `${base}*`);
  const lives = await Promise.all(all.map((key) => f.redis.pttl(key)));
  return all.filter((_, at) => lives[at] === -1).map((key) => key.slice(base.length));
}

describe('an empty namespace that is left', () => {
  test('is known as left to all who filled it, however often it was left', async () => {
    await useAndEmpty();
    expect(await f.writer.leave(NS, birth)).toBe(true);
    const later = await f.writer.open(NS);
    expect(await f.writer.leave(NS, later)).toBe(true);
    expect(await beat(birth)).toBe('left');
    expect(await beat(later)).toBe('left');
    expect(await beat('of nobody')).toBe('lost');
  });

  test('leaves nothing in Redis but what runs out by itself', async () => {
    await useAndEmpty();
    expect((await lastingKeys()).toSorted()).toEqual(['born', 'log']);
    expect(await f.writer.leave(NS, birth)).toBe(true);
    expect(await lastingKeys()).toEqual([]);
    expect(await f.writer.namespaces()).toEqual([]);
  });

  test('is marked no more: who comes late reads live', async () => {
    await useAndEmpty();
    await f.writer.leave(NS, birth);
    const read = await f.view.acquire({ namespace: NS, name: 'web' }, 't', 5_000, true);
    expect(read).toEqual({ held: true, world: null });
  });

  test('still knows what was deleted in it', async () => {
    await useAndEmpty();
    await f.writer.leave(NS, birth);
    expect(await f.put('workload', workload('vm', 4))).toEqual([]);
    expect(await f.writer.names(NS, 'workload')).toEqual([]);
  });

  test('is no lost data to a watcher that knew it', async () => {
    await useAndEmpty();
    await f.writer.leave(NS, birth);
    expect(await beat()).toBe('left');
    expect(await beat('of another fill')).toBe('lost');
    await f.wipe();
    expect(await beat()).toBe('lost');
  });

  test('is in use again once something comes, from whichever watcher', async () => {
    await useAndEmpty();
    await f.writer.leave(NS, birth);
    await f.put('service', service('api', 10));
    expect(await beat()).toBe('left-in-use');
    const again = await f.writer.open(NS);
    expect(again).not.toBe(birth);
    expect(await f.writer.namespaces()).toEqual([NS]);
    expect(await beat(again)).toBe('marked');
    expect(await beat()).toBe('left-in-use');
  });

  test('stays listed when a watcher opens it just now', async () => {
    await useAndEmpty();
    const opener = createViewWriter(f.redis, f.writer.keys, randomUUID);
    const slow = createViewWriter(
      before(f.redis, 'srem', () => opener.open(NS)),
      f.writer.keys,
      randomUUID,
    );
    expect(await slow.leave(NS, birth)).toBe(true);
    expect(await f.writer.namespaces()).toEqual([NS]);
    expect(await beat(await opener.open(NS))).toBe('marked');
  });
});

describe('a namespace is not left', () => {
  const stays = async (mark = birth): Promise<void> => {
    expect(await f.writer.leave(NS, mark)).toBe(false);
    expect(await f.redis.sismember(namespacesKey(f.writer.keys), NS)).toBe(1);
    expect(await f.writer.open(NS)).toBe(birth);
  };

  test.each([
    ['a Service', () => f.put('service', service('web', 1))],
    ['a workload', () => f.put('workload', workload('vm', 1))],
    ['a slice', () => f.put('slice', slice('web-1', 1, 'web'))],
  ])('while %s is in it', async (_, put) => {
    await put();
    await settleAll();
    await stays();
  });

  test('while one of its keys is not in the queue yet', async () => {
    await f.put('service', service('web', 1));
    await f.remove('service', 'web', '2', 'uid-web');
    await stays();
  });

  test('when it is empty because its data was lost, and another has opened it since', async () => {
    await stays('of the fill that was lost');
  });
});

test('a slice that a run wrote in a namespace that was left is not recorded: its echo opens that', async () => {
  const key = { namespace: NS, name: 'web' };
  await f.view.acquire(key, 'late', 60_000, false);
  await f.writer.leave(NS, birth);
  await f.view.finish(key, 'late', 'ok', [sliceRecord('web-1', 9, 'web')], []);
  expect(await lastingKeys()).toEqual([]);
  const echo = { op: 'upsert', name: 'web-1', rv: '9', uid: 'uid-web-1' } as const;
  expect(await f.writer.news(NS, 'slice', [echo])).toEqual([true]);
});

/** A connection that does something else before each command of that name. */
function before(redis: RedisClient, name: string, act: () => Promise<unknown>): RedisClient {
  return new Proxy(redis, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (property === name) await act();
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}
