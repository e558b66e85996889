import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { TetherProcess } from '../support/processes.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { makeChurn, say, type Churn } from '../support/churn.ts';
import { openFleet, startPair, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';

/** Two watchers and two workers; each test puts back what it takes away. */
let fleet: Fleet;
let churn: Churn;
let namespace: string;
beforeAll(async () => {
  namespace = await freshNamespace('chaos');
  // Stopped in the middle of what they do, as after a drain that takes too long.
  fleet = openFleet(namespace, { workerArgs: ['--drain-seconds', '0'] });
  await startPair(fleet);
  churn = await makeChurn(namespace, 4);
});
afterEach(() => churn.check());
afterAll(() => churn.end());

function oneOf(members: readonly TetherProcess[]): TetherProcess {
  const [member] = members;
  if (member === undefined) throw new Error('the fleet has none left');
  return member;
}

describe('SIGKILL under churn: nothing missing, nothing double, no key stuck', () => {
  test('a worker: the other one takes over its runs within seconds (queue 5)', async () => {
    churn.start();
    await untilChanges(churn.changes + 20);
    await fleet.kill(oneOf(fleet.workers));
    await churn.stop();
    const gap = await churn.converged();
    say(`worker killed: slices right ${gap} ms after the last change`);
    expect(gap).toBeLessThan(10_000);
    await fleet.start('worker');
    await fleet.untilQuiet();
  });

  test('a watcher: the other one delivers what it had not (queue 8, view 5, report 105)', async () => {
    churn.start();
    await untilChanges(churn.changes + 20);
    await fleet.kill(oneOf(fleet.watchers));
    await churn.stop();
    const gap = await churn.converged();
    say(`watcher killed: slices right ${gap} ms after the last change`);
    expect(gap).toBeLessThan(10_000);
    await fleet.start('watcher');
    await fleet.untilQuiet();
  });

  test('both watchers, and things change before one is back: its list finds them (A5, view 2)', async () => {
    for (const watcher of fleet.watchers.slice()) await fleet.kill(watcher);
    await churn.change(30);
    await fleet.start('watcher');
    const gap = await churn.converged();
    say(`all watchers killed: slices right ${gap} ms after one was ready again`);
    await fleet.start('watcher');
    await fleet.untilQuiet();
  });

  test('both workers: the queue keeps the keys until one is back (queue 5)', async () => {
    for (const worker of fleet.workers.slice()) await fleet.kill(worker);
    await churn.change(30);
    await Promise.all([fleet.start('worker'), fleet.start('worker')]);
    const gap = await churn.converged();
    say(`all workers killed: slices right ${gap} ms after two were ready again`);
    await fleet.untilQuiet();
  });
});

describe('SIGTERM under churn', () => {
  test('workers that may not finish what they do: nothing is missed, nobody is warned (report 37)', async () => {
    churn.start();
    for (const worker of fleet.workers.slice()) {
      await untilChanges(churn.changes + 10);
      await fleet.stop(worker);
      await fleet.start('worker');
    }
    await churn.stop();
    const gap = await churn.converged();
    say(`workers restarted one by one: slices right ${gap} ms after the last change`);
    await fleet.untilQuiet();
    const events = (await apiOk('GET', `/api/v1/namespaces/${namespace}/events`)) as {
      readonly items: readonly { readonly reason: string; readonly message: string }[];
    };
    // Others may have something to tell.
    const ours = events.items.filter(({ reason }) => reason === 'FailedToUpdateEndpointSlices');
    expect(ours.map(({ message }) => message)).toEqual([]);
  });
});

async function untilChanges(count: number): Promise<void> {
  await eventually(() => expect(churn.changes).toBeGreaterThanOrEqual(count));
}
