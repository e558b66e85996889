import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, setReady } from '../support/objects.ts';
import type { TetherProcess } from '../support/processes.ts';
import { rigOf } from '../support/up-rig.ts';

/*
 * An outage costs few tries, few lines in the log, and, when it is over, no more lists and connections
 * than are needed: a server that has just come back must not be knocked over by those that missed it.
 */
const SERVICES = 20;
/** Services, workloads, slices, and the Secrets of linked clusters. */
const WATCHED_KINDS = 4;
/** Long enough for a loop without a pause to try some thousand times. */
const OUTAGE_MS = 6_000;

let ns: string;
let server: PrivateRedis;
let fleet: Fleet;
let between: ApiInterceptor;
const rig = rigOf(() => ns);
const names = Array.from({ length: SERVICES }, (_, at) => `web-${at}`);
beforeAll(async () => {
  ns = await freshNamespace('quiet');
  server = await startPrivateRedis();
  between = await startApiInterceptor();
  fleet = openFleet(ns, { redisUrl: server.url });
  const way = { kubeconfig: between.kubeconfig };
  await Promise.all([
    fleet.start('watcher', way),
    fleet.start('watcher', way),
    fleet.start('worker', way),
  ]);
  await Promise.all(
    names.map(async (name) => {
      await createService(ns, name);
      await createWorkload(ns, name, name);
    }),
  );
  await allBecome('ready');
});
afterAll(async () => {
  await fleet.killAll();
  await between.close();
  await server.stop();
});

async function allBecome(state: 'ready' | 'not-ready'): Promise<void> {
  for (const name of names) await rig.endpointsBecome(name, [`192.0.2.10 8080 ${state}`]);
  await fleet.untilQuiet();
}

async function lasting(ms: number): Promise<void> {
  const from = performance.now();
  await eventually(() => expect(performance.now() - from).toBeGreaterThan(ms));
}

const linesOf = (member: TetherProcess): number =>
  member
    .stdout()
    .split('\n')
    .filter((line) => !line.includes('"level":"debug"')).length;

describe('the API server is away (report 90)', () => {
  test('few tries meanwhile, and no list, but a watch a kind, when it is back', async () => {
    // Keys that are in hand, and those that fail, when it goes.
    await Promise.all(names.map((name) => setReady(ns, name, false)));
    await between.goAway();
    const lines = fleet.watchers.map(linesOf);
    const [watcher] = fleet.watchers;
    const tries = () => watcher?.stdout().split('will be tried again').length ?? 0;
    const before = tries();
    await lasting(OUTAGE_MS);
    // Each kind after 100 ms, 200, 400, 800, 1000, 1000 … at most, or after half of each.
    expect(tries() - before).toBeLessThanOrEqual(WATCHED_KINDS * 15);
    const seen = between.requests.length;
    const connected = between.connections;
    await between.comeBack();
    await allBecome('not-ready');
    const after = between.requests.slice(seen);
    for (const kind of ['services', 'externalworkloads', 'endpointslices']) {
      // Of all namespaces: those of a watcher. It goes on where it was, so none is needed.
      const whole = after.filter(({ path }) => !path.includes('/namespaces/'));
      const lists = whole.filter(({ verb, path }) => verb === 'list' && path.endsWith(kind));
      const watches = whole.filter(({ verb, path }) => verb === 'watch' && path.endsWith(kind));
      expect({ kind, lists: lists.length }).toEqual({ kind, lists: 0 });
      expect({ kind, few: watches.length <= 4 }).toEqual({ kind, few: true });
    }
    // The watches, and what one worker and Events need; a loop of its own would make thousands.
    expect(between.connections - connected).toBeLessThanOrEqual(2 * WATCHED_KINDS + 2 * SERVICES);
    fleet.watchers.forEach((member, at) =>
      expect(linesOf(member) - (lines[at] ?? 0)).toBeLessThanOrEqual(WATCHED_KINDS * 15 + 10),
    );
  });
});

describe('Redis is away (report 90)', () => {
  test('few lines in the log meanwhile, and no write that was made already afterwards', async () => {
    const { port, password } = server;
    const members = [...fleet.watchers, ...fleet.workers];
    const before = members.map(linesOf);
    const seen = between.requests.length;
    await server.kill();
    await Promise.all(names.map((name) => setReady(ns, name, true)));
    await lasting(OUTAGE_MS);
    members.forEach((member, at) => {
      expect(linesOf(member) - (before[at] ?? 0)).toBeLessThanOrEqual(OUTAGE_MS / 100);
    });
    server = await startPrivateRedis({ port, password });
    await allBecome('ready');
    const after = between.requests.slice(seen);
    const writes = after.filter(
      ({ method, path }) => method === 'PUT' && path.includes('/endpointslices/'),
    );
    // One a Service, and now and then one that Redis was too early gone to confirm.
    expect(writes.length).toBeGreaterThanOrEqual(SERVICES);
    expect(writes.length).toBeLessThanOrEqual(2 * SERVICES);
    // It came back empty: each watcher lists each kind anew, and once more where it was in the middle.
    for (const kind of ['services', 'externalworkloads', 'endpointslices']) {
      const lists = after.filter(
        ({ verb, path }) =>
          verb === 'list' && path.endsWith(kind) && !path.includes('/namespaces/'),
      );
      expect({ kind, few: lists.length <= 4 }).toEqual({ kind, few: true });
    }
  });
});
