import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane } from '../controlplane/cluster.ts';
import { eventually } from './eventually.ts';
import setUpRedis, { lanesOf, type RunOptions } from './global-setup-redis.ts';
import { kubectl } from './kubectl.ts';
import { makeAccounts, ownAccounts } from './own-accounts.ts';
import { laneVariable, owns, TEST_ENV } from './run.ts';

const CRD = join(import.meta.dirname, '../../infra/crd/externalworkloads.yaml');

/**
 * Jest's set-up of the integration project: Redis, and an API server with our CRD for each file that
 * runs at a time. A control plane that runs already is used when TETHER_TEST_KUBECONFIG names it, which
 * saves 4 s a run.
 */
export default async function setUp(options: RunOptions): Promise<void> {
  await setUpRedis(options);
  process.env[TEST_ENV.kubectl] ??= (await controlPlaneBinaries()).kubectl;
  const given = process.env[TEST_ENV.kubeconfig];
  const clusters = given === undefined ? await startClusters(lanesOf(options)) : [given];
  process.env[TEST_ENV.kubeconfig] = clusters[0];
  if (existsSync(CRD)) await Promise.all(clusters.map(installCrd));
  if (ownAccounts()) await Promise.all(clusters.map(makeAccounts));
}

async function installCrd(kubeconfig: string): Promise<void> {
  const run = (args: readonly string[]): Promise<string> => kubectl(args, '', kubeconfig);
  await run(['apply', '--server-side', '--force-conflicts', '-f', CRD]);
  // A CRD that is Established may still answer 429 for a moment, and one just made has no status.
  await eventually(() => run(['get', 'externalworkloads', '--all-namespaces']));
}

/** Gives the paths of their kubeconfigs. */
async function startClusters(lanes: readonly number[]): Promise<string[]> {
  const dir = mkdtempSync(join(tmpdir(), 'tether-test-'));
  owns(async () => rmSync(dir, { recursive: true, force: true }));
  const controlPlane = await startControlPlane({
    binaries: await controlPlaneBinaries(),
    dir,
    clusters: lanes.length,
    controllersEverywhere: true,
  });
  owns(controlPlane.stop);
  for (const [at, { kubeconfig }] of controlPlane.clusters.entries()) {
    process.env[laneVariable(TEST_ENV.kubeconfig, at + 1)] = kubeconfig;
  }
  return controlPlane.clusters.map(({ kubeconfig }) => kubeconfig);
}
