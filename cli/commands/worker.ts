import { resolveRedisUrl } from '../../platform/config.ts';
import type { CommandInput, Io } from '../command.ts';
import { openRuntime, runRoles } from '../roles/runtime.ts';
import { startWorkerRole } from '../roles/worker-role.ts';

/** `tether worker`: that role alone. */
export async function run({ config }: CommandInput, io: Io): Promise<number> {
  const runtime = await openRuntime('worker', config, resolveRedisUrl(config), io.signal);
  try {
    await runRoles(runtime, [await startWorkerRole(runtime)]);
  } finally {
    await runtime.close();
  }
  return 0;
}
