import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import {
  startControlPlane,
  type ControlPlane,
  type RunningCluster,
} from '../controlplane/cluster.ts';
import { apiOk } from '../support/api.ts';
import { say } from '../support/churn.ts';
import { compact, etcdOf } from '../support/etcd.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, startPair, type Fleet } from '../support/fleet.ts';
import {
  createService,
  createWorkload,
  remove,
  servicePath,
  setReady,
  workloadPath,
} from '../support/objects.ts';
import { runTether } from '../support/processes.ts';
import { startApiProxy, type ApiProxy } from '../support/proxy.ts';
import { TEST_ENV } from '../support/run.ts';
import { rigOf } from '../support/up-rig.ts';

/*
 * A control plane of the file's own, since its API server is killed under two watchers and two workers.
 * A proxy keeps them away while things change, so that no watch has a chance to see it happen.
 */
let dir: string;
let controlPlane: ControlPlane;
let cluster: RunningCluster;
let fleet: Fleet;
let way: ApiProxy;
const ns = 'restarts';
const rig = rigOf(() => ns);
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-restarts-'));
  controlPlane = await startControlPlane({ binaries: await controlPlaneBinaries(), dir });
  const [only] = controlPlane.clusters;
  if (only === undefined) throw new Error('the control plane has no cluster');
  cluster = only;
  // Of this test file alone: whoever asks for the API server of the run means this one from now on.
  process.env[TEST_ENV.kubeconfig] = cluster.kubeconfig;
  expect(await runTether(['install'])).toMatchObject({ code: 0 });
  await apiOk('POST', '/api/v1/namespaces', { metadata: { name: ns } });
  way = await startApiProxy();
  fleet = openFleet(ns);
  await startPair(fleet, { kubeconfig: way.kubeconfig });
});
afterAll(async () => {
  await fleet.killAll();
  await way.close();
  await controlPlane.stop();
  rmSync(dir, { recursive: true, force: true });
});
let app = '';
let round = 0;
beforeEach(() => {
  round += 1;
  app = `web-${round}`;
});

/** Only watchers list Services. */
const lists = (): Promise<number> =>
  fleet.count('tether_api_requests_total', 'verb="list",resource="services",code="200"');
const untilLists = (least: number): Promise<number> =>
  eventually(async () => {
    const made = await lists();
    if (made < least) throw new Error(`${made} lists of Services instead of ${least}`);
    return made;
  });
const ready = (...ips: readonly string[]): string[] => ips.map((ip) => `${ip} 8080 ready`);

/** Three Services: one loses a workload, one gets one, one goes; and one comes. */
async function before(): Promise<void> {
  for (const [at, name] of [`${app}-a`, `${app}-b`, `${app}-c`].entries()) {
    await createService(ns, name);
    await createWorkload(ns, `${name}-1`, name, { ips: [`192.0.2.${at * 10 + 1}`] });
    await createWorkload(ns, `${name}-2`, name, { ips: [`192.0.2.${at * 10 + 2}`] });
  }
  await rig.endpointsBecome(`${app}-a`, ready('192.0.2.1', '192.0.2.2'));
  await rig.endpointsBecome(`${app}-b`, ready('192.0.2.11', '192.0.2.12'));
  await rig.endpointsBecome(`${app}-c`, ready('192.0.2.21', '192.0.2.22'));
  await fleet.untilQuiet();
}

async function change(): Promise<void> {
  await remove(workloadPath(ns, `${app}-a-1`));
  await setReady(ns, `${app}-b-1`, false);
  await createWorkload(ns, `${app}-b-3`, `${app}-b`, { ips: ['192.0.2.13'] });
  await remove(servicePath(ns, `${app}-c`));
  await createService(ns, `${app}-d`);
  await createWorkload(ns, `${app}-d-1`, `${app}-d`, { ips: ['192.0.2.31'] });
}

async function becomesRight(): Promise<void> {
  await rig.endpointsBecome(`${app}-a`, ready('192.0.2.2'));
  await rig.endpointsBecome(`${app}-b`, [
    '192.0.2.11 8080 not-ready',
    ...ready('192.0.2.12', '192.0.2.13'),
  ]);
  await rig.noSlices(`${app}-c`);
  await rig.endpointsBecome(`${app}-d`, ready('192.0.2.31'));
  await fleet.untilQuiet();
}

describe('the API server is killed and started again under two watchers and two workers', () => {
  test('what was deleted, changed and created meanwhile is found, though etcd has compacted its history away (reports 86 and 87)', async () => {
    await before();
    const listed = await lists();
    way.proxy.cut();
    await change();
    const etcd = etcdOf(cluster.kubeconfig);
    if (etcd !== undefined) await compact(etcd);
    // Its watch cache must not know either what etcd has forgotten.
    await cluster.killServer();
    await cluster.restartServer();
    const from = performance.now();
    way.proxy.restore();
    await becomesRight();
    say(`API server restarted: right ${Math.round(performance.now() - from)} ms later`);
    // Of each watcher one that replaces what it knew, and no more (report 90). The slower of the two may
    // still be waiting for its next try.
    const least = etcd === undefined ? 0 : 2;
    const made = await untilLists(listed + least);
    expect(made - listed).toBeLessThanOrEqual(2);
  });

  test('nobody dies of it, and what changes right afterwards is followed (report 90)', async () => {
    await before();
    const listed = await lists();
    await cluster.killServer();
    await cluster.restartServer();
    const from = performance.now();
    await change();
    await becomesRight();
    say(`API server restarted: right ${Math.round(performance.now() - from)} ms later`);
    expect((await lists()) - listed).toBeLessThanOrEqual(2);
    expect([fleet.watchers.length, fleet.workers.length]).toEqual([2, 2]);
  });
});
