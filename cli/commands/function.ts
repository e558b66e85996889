import { resolveRedisUrl } from '../../platform/config.ts';
import type { CommandInput, Io } from '../command.ts';
import { checkFunctionConfig, startFunctionRole } from '../roles/function-role.ts';
import { runRoles } from '../roles/runtime.ts';

/** `tether function`: reconciles what it is asked for over HTTP, one key a request, without a queue. */
export async function run({ config }: CommandInput, { signal }: Io): Promise<number> {
  checkFunctionConfig(config);
  await runRoles({
    name: 'function',
    config,
    redisUrl: resolveRedisUrl(config),
    signal,
    start: async (runtime) => [await startFunctionRole(runtime)],
  });
  return 0;
}
