import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { makeChurn } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { held } from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, setReady, slicesPath } from '../support/objects.ts';
import { makeOtherRelease, type OtherRelease } from '../support/other-release.ts';
import type { TetherProcess } from '../support/processes.ts';
import { openQueueProbe } from '../support/queue-probe.ts';
import { fromRun } from '../support/run.ts';
import { rigOf } from '../support/up-rig.ts';

/*
 * Two releases on one Redis, whose views differ in their format: the state of a rolling upgrade. "Old" is
 * this tree with another VIEW_SCHEMA and other script texts.
 */
let old: OtherRelease;
let redis: Redis;
let between: ApiInterceptor;
let ns: string;
let fleet: Fleet;
const rig = rigOf(() => ns);
beforeAll(async () => {
  old = makeOtherRelease();
  redis = new Redis(fromRun('redisUrl'));
  between = await startApiInterceptor();
});
afterAll(async () => {
  await redis.quit();
  await between.close();
  old.remove();
});
beforeEach(async () => {
  ns = await freshNamespace('upgrade');
  fleet = openFleet(ns);
  between.rule = () => undefined;
});
afterEach(() => fleet.killAll());

const viewKeys = (schema: string, kind = '*'): Promise<string[]> =>
  redis.keys(`{${fleet.prefix}:${ns}}:${schema}:*:${kind}`);
const runsOf = (worker: TetherProcess): number => worker.stdout().split('"slices ').length - 1;

async function worksOn(workers: readonly TetherProcess[]): Promise<void> {
  const before = workers.map(runsOf);
  await eventually(() => {
    workers.forEach((worker, at) => expect(runsOf(worker)).toBeGreaterThan(before[at] ?? 0));
  });
}

/** What ten seconds do: nothing is left of the old view's marks, nor of its watcher's last word. */
async function letMarksRunOut(): Promise<void> {
  await redis.del(await viewKeys(old.schema, 'm:*'));
  const watchers = `{${fleet.prefix}}:watchers`;
  const told = Object.entries(await redis.hgetall(watchers));
  const ofOld = told.filter(([, beat]) => beat.includes(`"view":"${old.schema} `));
  expect(ofOld).toHaveLength(1);
  await redis.hdel(watchers, ...ofOld.map(([id]) => id));
}

async function served(): Promise<void> {
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web', { ips: ['192.0.2.1'] });
  await rig.endpointsBecome('web', ['192.0.2.1 8080 ready']);
}

describe('two releases side by side', () => {
  it('miss no endpoint under churn, and leave none double when the old one goes', async () => {
    const bin = { bin: old.bin };
    const [oldWatcher, oldWorker] = await Promise.all([
      fleet.start('watcher', bin),
      fleet.start('worker', bin),
    ]);
    const churn = await makeChurn(ns, 3);
    try {
      churn.start();
      await worksOn([oldWorker]);
      const [newWorker] = await Promise.all([fleet.start('worker'), fleet.start('watcher')]);
      await worksOn([oldWorker, newWorker]);
      // Each has a view of its own.
      expect((await viewKeys(old.schema, 'service')).length).toBeGreaterThan(0);
      expect((await viewKeys('v1', 'service')).length).toBeGreaterThan(0);
      await fleet.stop(oldWorker);
      await worksOn([newWorker]);
      await fleet.stop(oldWatcher);
      await worksOn([newWorker]);
      await churn.stop();
      await churn.converged();
      await churn.check();
      await fleet.untilQuiet();
    } finally {
      await churn.end();
    }
  });

  it('exclude each other from a key by its lock', async () => {
    await fleet.start('watcher');
    const oldWorker = await fleet.start('worker', {
      bin: old.bin,
      kubeconfig: between.kubeconfig,
      args: ['--concurrency', '1'],
    });
    await served();
    const gate = held();
    let writes = 0;
    between.rule = ({ method, path }) => {
      if (method === 'GET' || !path.startsWith(slicesPath(ns))) return undefined;
      writes += 1;
      return gate.behaviour;
    };
    await setReady(ns, 'vm', false);
    await eventually(() => expect(writes).toBe(1));
    const newWorker = await fleet.start('worker');
    // Somebody asks for the very key that the old one is busy with.
    const queue = await openQueueProbe(fromRun('redisUrl'), fleet.prefix);
    try {
      await queue.ask({ namespace: ns, name: 'web' });
      await newWorker.untilLog(new RegExp(`"key":"${ns}/web".*locked elsewhere`));
    } finally {
      await queue.close();
    }
    expect(runsOf(newWorker)).toBe(0);
    gate.release();
    await rig.endpointsBecome('web', ['192.0.2.1 8080 not-ready']);
    await fleet.untilQuiet();
    expect(oldWorker.stdout()).toMatch(/"slices written"/);
  });
});

describe('a worker whose watchers are gone, beside one of the other release', () => {
  it('follows changes at once when its watcher stopped in order', async () => {
    const oldWatcher = await fleet.start('watcher', { bin: old.bin });
    await Promise.all([fleet.start('watcher'), fleet.start('worker', { bin: old.bin })]);
    await served();
    expect(await viewKeys(old.schema, 'm:slice')).toHaveLength(1);
    await fleet.stop(oldWatcher);
    expect(await viewKeys(old.schema, 'm:*')).toEqual([]);
    await setReady(ns, 'vm', false);
    await rig.endpointsBecome('web', ['192.0.2.1 8080 not-ready']);
  });

  it('looks again at what it read from a view that nobody fed, after its watcher was killed', async () => {
    const oldWatcher = await fleet.start('watcher', { bin: old.bin });
    const [watcher, worker] = await Promise.all([
      fleet.start('watcher'),
      fleet.start('worker', { bin: old.bin }),
    ]);
    await served();
    await fleet.untilQuiet();
    await fleet.kill(oldWatcher);
    const before = runsOf(worker);
    await setReady(ns, 'vm', false);
    // The marks of the old view last for some seconds, so that it takes the old state for the present one.
    await eventually(() => expect(runsOf(worker)).toBeGreaterThan(before));
    await letMarksRunOut();
    await rig.endpointsBecome('web', ['192.0.2.1 8080 not-ready']);
    await watcher.untilLog(/every Service is looked at again/);
  });
});
