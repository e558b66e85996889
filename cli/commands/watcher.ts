import { resolveRedisUrl } from '../../platform/config.ts';
import type { CommandInput, Io } from '../command.ts';
import { openRuntime, runRoles } from '../roles/runtime.ts';
import { startWatcherRole } from '../roles/watcher-role.ts';

/** `tether watcher`: that role alone. */
export async function run({ config }: CommandInput, io: Io): Promise<number> {
  const runtime = await openRuntime('watcher', config, resolveRedisUrl(config), io.signal);
  try {
    await runRoles(runtime, [await startWatcherRole(runtime)]);
  } finally {
    await runtime.close();
  }
  return 0;
}
