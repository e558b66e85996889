import { runTarget } from './run.mjs';
import { SetupError } from './say.mjs';

/** Builds what the planner is compared with once; silent when it exists. */
export async function ensureParity() {
  const code = await runTarget(['test/parity/build.ts']);
  if (code !== 0) throw new SetupError('the reconciler of Kubernetes is missing, see above');
}
