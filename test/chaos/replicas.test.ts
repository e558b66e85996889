import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet, type MemberOptions } from '../support/fleet.ts';
import { refuse } from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  mergePatch,
  remove,
  setReady,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import type { TetherProcess } from '../support/processes.ts';
import { skewedClock } from '../support/skewed-clock.ts';
import { rigOf } from '../support/up-rig.ts';

const HOUR = 3_600_000;

let ns: string;
let fleet: Fleet;
let between: ApiInterceptor;
const rig = rigOf(() => ns);
beforeAll(async () => {
  ns = await freshNamespace('replicas');
  fleet = openFleet(ns);
  between = await startApiInterceptor();
});
afterAll(async () => {
  await fleet.killAll();
  await between.close();
});
let web = '';
let count = 0;
beforeEach(() => {
  count += 1;
  web = `web-${count}`;
  between.rule = () => undefined;
});

const clock = (skewMs: number): MemberOptions => ({ env: skewedClock(skewMs) });

const at = (ip: string, state = 'ready'): string => `${ip} 8080 ${state}`;

async function served(): Promise<void> {
  await createService(ns, web);
  await createWorkload(ns, `${web}-a`, web, { ips: ['192.0.2.1'] });
  await createWorkload(ns, `${web}-b`, web, { ips: ['192.0.2.2'] });
  await rig.endpointsBecome(web, [at('192.0.2.1'), at('192.0.2.2')]);
}

/** Everything that can happen to a workload, and what comes of it. */
async function change(): Promise<void> {
  await remove(workloadPath(ns, `${web}-a`));
  await setReady(ns, `${web}-b`, false);
  await createWorkload(ns, `${web}-c`, web, { ips: ['192.0.2.3'] });
  await createWorkload(ns, `${web}-d`, web, { ips: ['192.0.2.4'] });
  await mergePatch(workloadPath(ns, `${web}-d`), { metadata: { labels: { app: 'none' } } });
}
const CHANGED = [at('192.0.2.2', 'not-ready'), at('192.0.2.3')];

/** Frozen until nobody takes it for alive. */
async function frozen(member: TetherProcess | undefined, act: () => Promise<void>): Promise<void> {
  if (member === undefined) throw new Error('the fleet has none');
  member.freeze();
  try {
    await act();
  } finally {
    member.thaw();
  }
}

describe('a watcher that is frozen and thawed (report 106)', () => {
  test('the only one: what happened meanwhile is not lost', async () => {
    await Promise.all([fleet.start('watcher'), fleet.start('worker')]);
    await served();
    await frozen(fleet.watchers[0], change);
    await rig.endpointsBecome(web, CHANGED);
    await fleet.untilQuiet();
  });

  test('beside another: the old events that it still has undo nothing', async () => {
    await fleet.start('watcher');
    await served();
    await frozen(fleet.watchers[0], async () => {
      await change();
      await rig.endpointsBecome(web, CHANGED);
      // The same once more: what it has missed has become right, wrong, and right again.
      await setReady(ns, `${web}-b`, true);
      await remove(workloadPath(ns, `${web}-c`));
      await rig.endpointsBecome(web, [at('192.0.2.2')]);
    });
    // It has caught up when a change that only it sees is followed.
    for (const other of fleet.watchers.slice(1)) await fleet.kill(other);
    await setReady(ns, `${web}-b`, false);
    await rig.endpointsBecome(web, [at('192.0.2.2', 'not-ready')]);
    await fleet.untilQuiet();
    await fleet.killAll();
  });
});

describe('clocks of hosts that differ by an hour: locks last as long as Redis says (report 107)', () => {
  test.each([
    ['the watcher is ahead and a worker behind', [HOUR, -HOUR, 0]],
    ['the watcher is behind and a worker ahead', [-HOUR, HOUR, 0]],
  ] as const)(
    '%s: keys are run in time, those that failed included',
    async (_what, [watcher, one, other]) => {
      const way = { kubeconfig: between.kubeconfig };
      await Promise.all([
        fleet.start('watcher', clock(watcher)),
        fleet.start('worker', { ...clock(one), ...way }),
        fleet.start('worker', { ...clock(other), ...way }),
      ]);
      await served();
      let failures = 0;
      between.rule = ({ method, path }) => {
        if (method === 'GET' || !path.startsWith(slicesPath(ns)) || failures === 6)
          return undefined;
        failures += 1;
        return refuse(503);
      };
      await change();
      await rig.endpointsBecome(web, CHANGED);
      expect(failures).toBe(6);
      await fleet.untilQuiet();
      await fleet.killAll();
    },
  );

  test('a worker that is ahead puts a key off, and dies: the others wait for no clock', async () => {
    const way = { kubeconfig: between.kubeconfig };
    await Promise.all([fleet.start('watcher'), fleet.start('worker', { ...clock(HOUR), ...way })]);
    await served();
    let refused = 0;
    between.rule = ({ method, path }) => {
      if (method === 'GET' || !path.startsWith(slicesPath(ns))) return undefined;
      refused += 1;
      return refuse(503);
    };
    await setReady(ns, `${web}-b`, false);
    await eventually(() => expect(refused).toBeGreaterThanOrEqual(2));
    for (const worker of fleet.workers.slice()) await fleet.stop(worker);
    between.rule = () => undefined;
    await fleet.start('worker');
    await rig.endpointsBecome(web, [at('192.0.2.1'), at('192.0.2.2', 'not-ready')]);
    await fleet.killAll();
  });
});
