import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startSliceReader, type SliceReader } from '../support/churn-reader.ts';
import { say } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  setReady,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { startApiProxy, type ApiProxy } from '../support/proxy.ts';

let ns: string;
let fleet: Fleet;
let api: ApiProxy;
let reader: SliceReader;
beforeEach(async () => {
  ns = await freshNamespace('pause');
  fleet = openFleet(ns);
  api = await startApiProxy();
});
afterEach(async () => {
  await reader.stop();
  await fleet.killAll();
  await api.close();
});

async function move(port: number): Promise<void> {
  const ports = [{ name: 'http', port, protocol: 'TCP' }];
  await mergePatch(workloadPath(ns, 'mover'), { spec: { ports } });
}

const endpointsBecome = (...expected: string[]): Promise<void> =>
  eventually(async () => expect(await endpointsOf(ns, 'web')).toEqual(expected));

describe('a worker that is killed in the middle of a run (queue 5)', () => {
  test('another one takes the key over within seconds', async () => {
    const [killed] = await Promise.all([
      fleet.start('worker', { kubeconfig: api.kubeconfig }),
      fleet.start('watcher'),
    ]);
    await createService(ns, 'web');
    await createWorkload(ns, 'stays', 'web', { ips: ['192.0.2.1'] });
    await createWorkload(ns, 'more', 'web', { ips: ['192.0.2.2'] });
    await endpointsBecome('192.0.2.1 8080 ready', '192.0.2.2 8080 ready');
    reader = await startSliceReader(ns);
    reader.expectAlways(['192.0.2.1']);
    api.proxy.freeze();
    await setReady(ns, 'more', false);
    await eventually(() => expect(api.proxy.heldBytes).toBeGreaterThan(0));
    await fleet.start('worker');
    const from = performance.now();
    await fleet.kill(killed);
    await endpointsBecome('192.0.2.1 8080 ready', '192.0.2.2 8080 not-ready');
    const gap = Math.round(performance.now() - from);
    say(`worker killed in a run: right ${gap} ms after the kill`);
    expect(gap).toBeLessThan(5_000);
    await fleet.untilQuiet();
    await reader.caughtUp();
    expect(reader.takeMissing()).toEqual([]);
  });
});

describe('a worker that is paused in the middle of a run for longer than its lock (report 103, 106)', () => {
  test.each([
    // Meanwhile the world moves on, so that the late write finds its name taken by something else …
    ['its name is in use for other ports by then', 7070],
    // … or goes back, so that the late write comes through and makes a slice that nobody wants.
    ['its slice came and went meanwhile', 8080],
  ])('its write arrives late, and %s: the result is right', async (_what, port) => {
    const [paused] = await Promise.all([
      fleet.start('worker', { kubeconfig: api.kubeconfig }),
      fleet.start('watcher'),
    ]);
    await createService(ns, 'web', {
      spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    });
    await createWorkload(ns, 'stays', 'web', { ips: ['192.0.2.1'] });
    await createWorkload(ns, 'mover', 'web', { ips: ['192.0.2.2'] });
    await endpointsBecome('192.0.2.1 8080 ready', '192.0.2.2 8080 ready');
    reader = await startSliceReader(ns);
    reader.expectAlways(['192.0.2.1', '192.0.2.2']);

    api.proxy.freeze();
    await move(9090);
    // Its first write is on the way, and stays there.
    await eventually(() => expect(api.proxy.heldBytes).toBeGreaterThan(0));
    paused.freeze();
    await fleet.start('worker');
    await endpointsBecome('192.0.2.1 8080 ready', '192.0.2.2 9090 ready');
    await move(port);
    await endpointsBecome('192.0.2.1 8080 ready', `192.0.2.2 ${port} ready`);

    const before = reader.events;
    api.proxy.restore();
    paused.thaw();
    // It finds out by itself that the run is not its own any more, and takes part again.
    await paused.untilLog(/the lock was lost during a run/);
    await fleet.untilQuiet();
    if (port === 8080) await eventually(() => expect(reader.events).toBeGreaterThan(before));
    await endpointsBecome('192.0.2.1 8080 ready', `192.0.2.2 ${port} ready`);
    await eventually(async () => {
      expect(await slicesOf(ns, 'web')).toHaveLength(port === 8080 ? 1 : 2);
    });
    await reader.caughtUp();
    expect(reader.takeMissing()).toEqual([]);
  });
});
