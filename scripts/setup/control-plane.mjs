import { runTarget } from './run.mjs';
import { SetupError } from './say.mjs';

/** Builds etcd, kube-apiserver, kube-controller-manager and kubectl once; silent when they exist. */
export async function ensureControlPlane() {
  // A control plane that is given makes only kubectl needed, which may be given too.
  if (process.env.TETHER_TEST_KUBECONFIG && process.env.TETHER_TEST_KUBECTL) return;
  const code = await runTarget(['test/controlplane/build.ts']);
  if (code !== 0) throw new SetupError('the programs of the control plane are missing, see above');
}
