import { runTarget } from './run.mjs';
import { SetupError } from './say.mjs';

/** Builds helm once, for the tests of the chart; silent when it exists. */
export async function ensureHelm() {
  const code = await runTarget(['test/helm/build.ts']);
  if (code !== 0) throw new SetupError('helm is missing, see above');
}
