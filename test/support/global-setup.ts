import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane } from '../controlplane/cluster.ts';
import { eventually } from './eventually.ts';
import setUpRedis from './global-setup-redis.ts';
import { kubectl } from './kubectl.ts';
import { owns, TEST_ENV } from './run.ts';

const CRD = join(import.meta.dirname, '../../infra/crd/externalworkloads.yaml');

/**
 * Jest's set-up of the integration project: Redis, and one control plane with our CRD. A control
 * plane that runs already is used when TETHER_TEST_KUBECONFIG names it, which saves 4 s a run.
 */
export default async function setUp(): Promise<void> {
  await setUpRedis();
  if (process.env[TEST_ENV.kubectl] === undefined) {
    process.env[TEST_ENV.kubectl] = (await controlPlaneBinaries()).kubectl;
  }
  if (process.env[TEST_ENV.kubeconfig] === undefined) {
    process.env[TEST_ENV.kubeconfig] = await startSharedCluster();
  }
  if (existsSync(CRD)) {
    await kubectl(['apply', '--server-side', '--force-conflicts', '-f', CRD]);
    // A CRD that is Established may still answer 429 for a moment, and one just made has no status.
    await eventually(() => kubectl(['get', 'externalworkloads', '--all-namespaces']));
  }
}

/** Gives the path of its kubeconfig. */
async function startSharedCluster(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'tether-test-'));
  owns(async () => rmSync(dir, { recursive: true, force: true }));
  const controlPlane = await startControlPlane({ binaries: await controlPlaneBinaries(), dir });
  owns(controlPlane.stop);
  const [cluster] = controlPlane.clusters;
  if (cluster === undefined) throw new Error('the control plane has no cluster');
  return cluster.kubeconfig;
}
