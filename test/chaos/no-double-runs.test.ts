import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { openFleet, startPair, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, endpointsOf, setReady } from '../support/objects.ts';

let ns: string;
let fleet: Fleet;
beforeAll(async () => {
  ns = await freshNamespace('double');
  fleet = openFleet(ns);
  await startPair(fleet);
});
afterAll(async () => {
  await fleet.killAll();
});

describe('two watchers and two workers', () => {
  test('make one run and one write of each change (queue 8, A4, view 5)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    await eventually(async () => {
      expect(await endpointsOf(ns, 'web')).toEqual(['192.0.2.10 8080 ready']);
    });
    await fleet.untilQuiet();
    const runs = (): Promise<number> => fleet.count('tether_reconciles_total');
    const writes = (): Promise<number> =>
      fleet.count('tether_api_requests_total', 'verb="update",resource="endpointslices"');
    const before = { runs: await runs(), writes: await writes() };
    const changes = 20;
    for (let change = 1; change <= changes; change += 1) {
      const ready = change % 2 === 0;
      await setReady(ns, 'vm', ready);
      const state = ready ? 'ready' : 'not-ready';
      await eventually(async () => {
        expect(await endpointsOf(ns, 'web')).toEqual([`192.0.2.10 8080 ${state}`]);
      });
    }
    // A last change of another Service: whatever the others led to was judged before it.
    await createService(ns, 'last');
    await createWorkload(ns, 'other', 'last', { ips: ['192.0.2.11'], ready: null });
    await eventually(async () => expect(await endpointsOf(ns, 'last')).toHaveLength(1));
    await fleet.untilQuiet();
    const after = { runs: await runs(), writes: await writes() };
    expect(after.writes - before.writes).toBe(changes);
    // The Service and the workload of the last change come as one run or as two.
    expect(after.runs - before.runs - changes).toBeGreaterThanOrEqual(1);
    expect(after.runs - before.runs - changes).toBeLessThanOrEqual(2);
  });
});
