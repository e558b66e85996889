import { resolveRedisUrl } from '../../platform/config.ts';
import type { CommandInput, Io } from '../command.ts';
import { runRoles } from '../roles/runtime.ts';
import { startWatcherRole } from '../roles/watcher-role.ts';

/** `tether watcher`: that role alone. */
export async function run({ config }: CommandInput, { signal }: Io): Promise<number> {
  await runRoles({
    name: 'watcher',
    config,
    redisUrl: resolveRedisUrl(config),
    signal,
    start: async (runtime) => [await startWatcherRole(runtime)],
  });
  return 0;
}
