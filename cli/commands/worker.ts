import { resolveRedisUrl } from '../../platform/config.ts';
import type { CommandInput, Io } from '../command.ts';
import { runRoles } from '../roles/runtime.ts';
import { startWorkerRole } from '../roles/worker-role.ts';

/** `tether worker`: that role alone. */
export async function run({ config }: CommandInput, { signal }: Io): Promise<number> {
  await runRoles({
    name: 'worker',
    config,
    redisUrl: resolveRedisUrl(config),
    signal,
    start: async (runtime) => [await startWorkerRole(runtime)],
  });
  return 0;
}
