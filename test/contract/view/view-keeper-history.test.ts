import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Kind } from '../../../core/codec.ts';
import { createIdentityStore, currentIdentity } from '../../../platform/redis/view/identity.ts';
import { createViewWriter } from '../../../platform/redis/view/view-writer.ts';
import { KINDS, ViewKeeper, type Listed } from '../../../watcher/view-keeper.ts';
import { NS, openFixture, type ViewFixture } from './fixture.ts';

const CLUSTER = 'cluster-a';
const NO_NEWS = new Map<Kind, string>();

/** What keeps the view of one watcher marked, on a real Redis. */
let f: ViewFixture;
beforeEach(() => {
  f = openFixture();
});
afterEach(() => f.close());

/** With how often it was said that another view is filled. */
async function openKeeper() {
  const { redis, prefix } = f;
  const identities = createIdentityStore(redis, prefix, CLUSTER);
  const told = { moves: 0 };
  const keeper = new ViewKeeper({
    openView: (identity) => createViewWriter(redis, { prefix, identity }, randomUUID),
    identities,
    history: await identities.history(),
    healthyKinds: () => KINDS,
    accepts: (namespace) => namespace === NS,
    onMoved: () => void told.moves++,
  });
  return { keeper, told };
}

function list(keeper: ViewKeeper, kind: Kind, version: string, over = {}): Promise<Listed> {
  const { round } = keeper;
  const of = {
    kind,
    resourceVersion: version,
    found: 0,
    seenBefore: '',
    contradicted: false,
    round,
  };
  return keeper.listed({ ...of, ...over });
}

/** A keeper that has put a namespace into the view, and listed everything. */
async function inSync() {
  const opened = await openKeeper();
  await opened.keeper.seen(NS);
  for (const kind of KINDS) await list(opened.keeper, kind, '800');
  expect(opened.keeper.inSync).toBe(true);
  return opened;
}

const identity = (): Promise<string> => currentIdentity(f.redis, f.prefix, CLUSTER);

describe('the history of the API server went back', () => {
  it('as an older list shows: another view is filled, and the former one has no marks', async () => {
    const { keeper, told } = await inSync();
    expect(await list(keeper, 'workload', '700')).toBe('moved');
    expect([await identity(), keeper.inSync, told.moves]).toEqual([`${CLUSTER}.2`, false, 1]);
    // The fixture's view is the former one.
    const found = await f.view.acquire({ namespace: NS, name: 'web' }, 'token', 1, true);
    expect(found).toEqual({ held: true, world: null });
  });

  it('as a list shows that the view contradicts: another view is filled', async () => {
    const { keeper } = await inSync();
    expect(await list(keeper, 'workload', '1000000700', { contradicted: true })).toBe('moved');
    expect(await identity()).toBe(`${CLUSTER}.2`);
  });

  it('as another watcher saw: the next beat leaves the former view, and takes nothing for lost', async () => {
    const { keeper } = await inSync();
    const other = await inSync();
    await list(other.keeper, 'workload', '700');
    expect(await keeper.beat(NO_NEWS)).toEqual({ moved: true, lost: [] });
    expect([keeper.writer.keys.identity, keeper.inSync]).toEqual([`${CLUSTER}.2`, false]);
    for (const kind of KINDS) await list(keeper, kind, '701');
    expect([await keeper.beat(NO_NEWS), await identity()]).toEqual([
      { moved: false, lost: [] },
      `${CLUSTER}.2`,
    ]);
  });

  it('while other kinds are listed: their lists neither count nor begin yet another epoch', async () => {
    const { keeper, told } = await inSync();
    const { round } = keeper;
    await list(keeper, 'workload', '700');
    const late = { round, seenBefore: '900', contradicted: true };
    expect(await list(keeper, 'service', '701', late)).toBe('incomplete');
    expect(await list(keeper, 'slice', '701', late)).toBe('incomplete');
    expect([await identity(), told.moves]).toEqual([`${CLUSTER}.2`, 1]);
    expect(await list(keeper, 'workload', '702')).toBe('incomplete');
    expect(await list(keeper, 'service', '702')).toBe('incomplete');
    expect(await list(keeper, 'slice', '702')).toBe('opened');
  });
});
