import { afterEach, beforeEach, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createServiceView, type World } from '../../../platform/redis/view/service-view.ts';
import { startPrivateRedis } from '../../../platform/redis/private-server.ts';
import type { Change } from '../../../platform/redis/view/view-writer.ts';
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
beforeEach(() => {
  f = openFixture();
});
afterEach(() => f.close());

const key = { namespace: NS, name: 'web' };
const SIZE = 80;
/** Versions only ever grow, as those of an API server do. */
let version = 1_000;
const next = (): number => (version += 1);

async function fill(size = SIZE): Promise<void> {
  const put = (object: ReturnType<typeof workload>): Change => ({
    op: 'upsert',
    kind: 'workload',
    object,
  });
  await f.put('service', service('web', next()));
  await f.writer.apply(
    NS,
    Array.from({ length: size }, (_, i) => put(workload(`vm-${i}`, next()))),
  );
  await f.put('slice', slice('web-1', next(), 'web'));
  await f.sync();
}

async function read(view = f.view): Promise<World> {
  const answer = await view.acquire(key, 'reader', 5_000, true);
  await view.finish(key, 'reader', 'neutral', [], []);
  if (!answer.held || answer.world === null) throw new Error('the view could not be read');
  const order = <T extends { name: string }>(list: readonly T[]): T[] =>
    [...list].sort((a, b) => (a.name < b.name ? -1 : 1));
  const { workloads, slices } = answer.world;
  return { ...answer.world, workloads: order(workloads), slices: order(slices) };
}

/** What somebody reads who remembers nothing. */
const readAnew = (): Promise<World> =>
  read(createServiceView({ redis: f.redis, prefix: f.prefix, identity: () => 'cluster-a.1' }));

it('sends only what changed of a large Service that it has sent before', async () => {
  const server = await startPrivateRedis();
  const own = openFixture(server.url);
  const shared = f;
  f = own;
  try {
    await fill(2_000);
    const sent = async (): Promise<number> => {
      const stats = await own.redis.info('stats');
      return Number(/total_net_output_bytes:(\d+)/.exec(stats)?.[1]);
    };
    await read();
    await own.put('workload', workload('vm-7', next(), { ready: false }));
    const before = await sent();
    const world = await read();
    // The counters themselves are some 7 kB.
    expect((await sent()) - before).toBeLessThan(20_000);
    expect(world.workloads.find(({ name }) => name === 'vm-7')?.ready).toBe(false);
    expect(world.workloads).toHaveLength(2_000);
  } finally {
    await own.close();
    await server.stop();
    f = shared;
  }
});

type Step = readonly [what: string, run: (i: number) => Promise<unknown>];

const STEPS: readonly Step[] = [
  ['flip', (i) => f.put('workload', workload(`vm-${i}`, next(), { ready: i % 2 === 0 }))],
  ['leave', (i) => f.put('workload', workload(`vm-${i}`, next(), { labels: { app: 'other' } }))],
  ['remove', (i) => f.remove('workload', `vm-${i}`, String(next()), `uid-vm-${i}`)],
  ['stale', (i) => f.put('workload', workload(`vm-${i}`, 1, { ready: false }))],
  ['slice', (i) => f.put('slice', slice(`web-${i % 4}`, next(), 'web'))],
  ['slice of another', (i) => f.put('slice', slice(`web-${i % 4}`, next(), 'other'))],
  ['slice gone', (i) => f.remove('slice', `web-${i % 4}`, String(next()), `uid-web-${i % 4}`)],
  ['relabelled Service', () => f.put('service', service('web', next(), { labels: { a: 'b' } }))],
  [
    'other selector',
    () => f.put('service', service('web', next(), { selector: { app: 'other' } })),
  ],
  ['selector again', () => f.put('service', service('web', next()))],
  ['own write', (i) => finish([sliceRecord(`web-${i % 4}`, next(), 'web')], [])],
  ['own deletion', (i) => finish([], [sliceRecord(`web-${i % 4}`, next(), 'web')])],
  ['lost log', loseLog],
  ['burst', burst],
  ['batch', batch],
  ['read', async () => expect(await read()).toEqual(await readAnew())],
];

async function finish(
  written: Parameters<ViewFixture['view']['finish']>[3],
  deleted: typeof written,
) {
  await f.view.acquire(key, 'writer', 5_000, false);
  await f.view.finish(key, 'writer', 'ok', written, deleted);
}

async function loseLog(): Promise<void> {
  await deleteKeys(f.redis, await keysOf(f.redis, `{${f.prefix}:${NS}}:*:log`));
}

/** More changes than the log keeps. */
async function burst(i: number): Promise<void> {
  for (let n = 0; n < 150; n += 1) {
    await f.put('workload', workload(`vm-${(i + n) % SIZE}`, next(), { ready: n % 2 === 0 }));
  }
}

/** More changes at once than an entry of the log names. */
function batch(i: number): Promise<unknown> {
  const flips = Array.from({ length: 40 }, (_, n): Change => {
    const object = workload(`vm-${(i + n) % SIZE}`, next(), { ready: n % 2 === 0 });
    return { op: 'upsert', kind: 'workload', object };
  });
  return f.writer.apply(NS, flips);
}

it('sees what somebody sees who remembers nothing, whatever happened in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(STEPS.length - 1), fc.nat(SIZE - 1)), { maxLength: 25 }),
      async (steps) => {
        await f.wipe();
        await fill();
        await read();
        for (const [step, i] of steps) await STEPS[step]?.[1](i);
        expect(await read()).toEqual(await readAnew());
      },
    ),
    { numRuns: 30, seed: Number(process.env['TETHER_SEED'] ?? Date.now()) },
  );
}, 120_000);

it('reads a Service anew after Redis lost everything and was filled again', async () => {
  await fill();
  await read();
  await f.wipe();
  await f.put('service', service('web', version));
  await f.put('workload', workload('vm-1', next()));
  await f.sync();
  expect((await read()).workloads.map(({ name }) => name)).toEqual(['vm-1']);
});
