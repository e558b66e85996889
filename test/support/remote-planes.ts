import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane, type ControlPlane } from '../controlplane/cluster.ts';
import { fromRun, laneVariable, TEST_ENV } from './run.ts';

/**
 * Real API servers beside the one of this run, to be linked to it; gives their kubeconfigs once the
 * tests run. Where a control plane with that many clusters was given, they are its further ones; else they
 * are started for this file. To be called once at the top of it.
 */
export function remotePlanes(count: number): readonly string[] {
  const kubeconfigs: string[] = [];
  let own: ControlPlane | undefined;
  let dir = '';
  beforeAll(async () => {
    const beside = Array.from({ length: count }, (_, at) => besideTheRuns(at + 1));
    const free = !isShared() && beside.every((path) => existsSync(path));
    if (free) return void kubeconfigs.push(...beside);
    dir = mkdtempSync(join(tmpdir(), 'tether-remote-'));
    own = await startControlPlane({ binaries: await controlPlaneBinaries(), dir, clusters: count });
    kubeconfigs.push(...own.clusters.map(({ kubeconfig }) => kubeconfig));
  });
  afterAll(async () => {
    await own?.stop();
    if (dir !== '') rmSync(dir, { recursive: true, force: true });
  });
  return kubeconfigs;
}

/** Of a control plane that the run started each cluster is some file's own. */
function isShared(): boolean {
  return process.env[laneVariable(TEST_ENV.kubeconfig, 1)] !== undefined;
}

function besideTheRuns(at: number): string {
  return join(dirname(fromRun('kubeconfig')), `cluster-${at}.kubeconfig`);
}
