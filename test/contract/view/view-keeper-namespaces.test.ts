import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/logger.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { createIdentityStore } from '../../../platform/redis/view/identity.ts';
import { viewBase } from '../../../platform/redis/view/keys.ts';
import {
  createViewWriter,
  type Change,
  type ViewWriter,
} from '../../../platform/redis/view/view-writer.ts';
import { Dispatcher } from '../../../watcher/dispatcher.ts';
import { KINDS, ViewKeeper } from '../../../watcher/view-keeper.ts';
import { eventually } from '../../support/eventually.ts';
import { openRedis } from '../../support/redis.ts';
import { toldQueue } from '../../support/told-queue.ts';
import { service } from './fixture.ts';

const PREFIX = 'keep';
const NONE = new Map();
const ALL_THERE = { moved: false, lost: [] };

type Moment = 'after leave' | 'after it is found to be left' | 'before apply';

/** What a watcher does to the view, without its watches. */
interface Watcher {
  readonly keeper: ViewKeeper;
  readonly dispatcher: Dispatcher;
}

/** Counts commands, so it needs a Redis to which nobody else talks. */
let server: PrivateRedis;
let redis: RedisClient;
let watchers: Watcher[];
let version: number;
/** What comes between two steps of a watcher, once. */
let interlude: { at: Moment; act: () => Promise<unknown> } | null;
beforeEach(async () => {
  server = await startPrivateRedis();
  redis = openRedis(server.url);
  watchers = [];
  version = 0;
  interlude = null;
});
afterEach(async () => {
  await Promise.all(watchers.map(({ dispatcher }) => dispatcher.stop()));
  redis.disconnect();
  await server.stop();
});

/** A watcher that has just listed everything. */
async function open(): Promise<Watcher> {
  const identities = createIdentityStore(redis, PREFIX, 'c');
  const keeper = new ViewKeeper({
    openView: (identity) =>
      interruptible(createViewWriter(redis, { prefix: PREFIX, identity }, randomUUID)),
    identities,
    history: await identities.history(),
    healthyKinds: () => KINDS,
    accepts: () => true,
    onMoved: () => undefined,
  });
  const dispatcher = new Dispatcher({
    writer: () => keeper.writer,
    queue: toldQueue(() => undefined),
    log: silentLogger,
    random: () => 0,
    now: () => 0,
    onRefused: () => undefined,
    onNamespace: (namespace) => keeper.seen(namespace),
  });
  dispatcher.openGate();
  const watcher = { keeper, dispatcher };
  watchers.push(watcher);
  await list(watcher);
  return watcher;
}

function interruptible(writer: ViewWriter): ViewWriter {
  const reached = async (moment: Moment): Promise<void> => {
    if (interlude?.at !== moment) return;
    const { act } = interlude;
    interlude = null;
    await act();
  };
  return {
    ...writer,
    leave: async (...args) => {
      const left = await writer.leave(...args);
      if (left) await reached('after leave');
      return left;
    },
    heartbeat: async (...args) => {
      const beat = await writer.heartbeat(...args);
      if (beat === 'left') await reached('after it is found to be left');
      return beat;
    },
    apply: async (...args) => {
      await reached('before apply');
      return writer.apply(...args);
    },
  };
}

/** All kinds are listed; nothing has changed since the watch told of it. */
async function list({ keeper }: Watcher): Promise<void> {
  for (const kind of KINDS) {
    const { round } = keeper;
    const complete = { kind, resourceVersion: '1', found: 0, seenBefore: '', contradicted: false };
    await keeper.listed({ ...complete, round });
    await keeper.leaveEmpty();
  }
}

/** A Service `web`: another object each time. */
function creation(): Change {
  version += 1;
  return { op: 'upsert', kind: 'service', object: service('web', version, { uid: `${version}` }) };
}

/** The one that was made last goes. */
function deletion(): Change {
  const uid = `${version}`;
  return { op: 'remove', kind: 'service', name: 'web', rv: `${(version += 1)}`, uid };
}

/** All watchers see a change; it has left the pending set, which takes a moment. */
async function seen(namespace: string, change: Change): Promise<void> {
  for (const { dispatcher } of watchers) await dispatcher.apply(namespace, [change], 0);
  await eventually(async () => {
    const overdue = await watchers[0]?.keeper.writer.overdue(namespace, 0);
    expect(overdue?.dirty).toEqual([]);
  });
}

async function comeAndGo(namespaces: readonly string[]): Promise<void> {
  for (const namespace of namespaces) {
    await seen(namespace, creation());
    await seen(namespace, deletion());
  }
}

/** Scripts that a heartbeat of this watcher runs; nothing that it believes lost. */
async function scriptsOfABeat({ keeper }: Watcher): Promise<number> {
  const count = async (): Promise<number> => {
    const stats = await redis.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const before = await count();
  expect(await keeper.beat(NONE)).toEqual(ALL_THERE);
  return (await count()) - before;
}

async function isMarked(namespace: string): Promise<boolean> {
  const base = viewBase({ prefix: PREFIX, identity: 'c.1' }, namespace);
  return (await redis.exists(KINDS.map((kind) => `${base}m:${kind}`))) === KINDS.length;
}

async function expectOpen({ keeper }: Watcher, namespace: string): Promise<void> {
  expect(interlude).toBeNull();
  expect(await isMarked(namespace)).toBe(true);
  expect(await keeper.writer.namespaces()).toContain(namespace);
  expect(await keeper.beat(NONE)).toEqual(ALL_THERE);
  expect(await isMarked(namespace)).toBe(true);
}

const PREVIEWS = Array.from({ length: 20 }, (_, at) => `preview-${at}`);

describe('namespaces that come and go', () => {
  test('cost nothing once they are empty and everything was listed again', async () => {
    const watcher = await open();
    await seen('shop', creation());
    const few = await scriptsOfABeat(watcher);

    await comeAndGo(PREVIEWS);
    expect(await scriptsOfABeat(watcher)).toBe(few + PREVIEWS.length);
    await list(watcher);
    expect(await scriptsOfABeat(watcher)).toBe(few);
    expect(await watcher.keeper.namespaces()).toEqual(['shop']);
  });

  test('are no lost data to another watcher, which forgets them with its next heartbeat', async () => {
    const [first, second] = [await open(), await open()];
    await seen('shop', creation());
    const few = await scriptsOfABeat(second);

    await comeAndGo(PREVIEWS);
    await list(first);
    expect(await scriptsOfABeat(second)).toBe(few + PREVIEWS.length);
    expect(await scriptsOfABeat(second)).toBe(few);
    expect(await second.keeper.namespaces()).toEqual(['shop']);
  });

  test('are marked at once when they come back, whichever watcher sees it first', async () => {
    const [first, second] = [await open(), await open()];
    await comeAndGo(['shop', 'blog', 'wiki']);
    await list(first);
    expect(await isMarked('blog')).toBe(false);

    // One that has forgotten them, and one that has not heard yet that they were left.
    await first.dispatcher.apply('blog', [creation()], 0);
    expect(await isMarked('blog')).toBe(true);
    await second.dispatcher.apply('wiki', [creation()], 0);
    await scriptsOfABeat(second);
    expect(await isMarked('wiki')).toBe(true);
    expect(await second.keeper.namespaces()).toEqual(['shop', 'blog', 'wiki']);
    for (const watcher of watchers) expect(await watcher.keeper.beat(NONE)).toEqual(ALL_THERE);
  });

  test.each(['after leave', 'after it is found to be left'] as const)(
    'stay open when something comes while they are being left: %s',
    async (at) => {
      const watcher = await open();
      await comeAndGo(['shop', 'blog']);
      interlude = { at, act: () => watcher.dispatcher.apply('blog', [creation()], 0) };
      await list(watcher);
      await expectOpen(watcher, 'blog');
    },
  );

  test('stay open when they are left while something is on its way into them', async () => {
    const watcher = await open();
    await comeAndGo(['shop', 'blog']);
    interlude = { at: 'before apply', act: () => list(watcher) };
    await watcher.dispatcher.apply('blog', [creation()], 0);
    await expectOpen(watcher, 'blog');
  });

  test('do not all go: by the marks of one look-ups know that another is empty', async () => {
    const watcher = await open();
    await comeAndGo(['shop', 'blog']);
    await list(watcher);
    expect(await watcher.keeper.namespaces()).toEqual(['shop']);
    await watcher.keeper.beat(NONE);
    expect(await isMarked('shop')).toBe(true);
  });
});

test('Redis that lost everything is not taken for one whose namespaces are empty', async () => {
  const watcher = await open();
  for (const namespace of ['shop', 'blog']) await seen(namespace, creation());
  await redis.flushall();
  await list(watcher);
  expect((await watcher.keeper.beat(NONE)).lost.toSorted()).toEqual(['blog', 'shop']);
});
