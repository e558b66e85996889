import type { CommandInput, Io } from '../command.ts';
import { redisForUp } from '../roles/redis.ts';
import { runRoles } from '../roles/runtime.ts';
import { startWatcherRole } from '../roles/watcher-role.ts';
import { startWorkerRole } from '../roles/worker-role.ts';

/** `tether up`: all roles in one process, with a Redis of its own where none is configured. */
export async function run({ config }: CommandInput, { signal }: Io): Promise<number> {
  const redis = await redisForUp(config);
  try {
    await runRoles({
      name: 'up',
      config,
      redisUrl: redis.url,
      signal,
      // In this order they stop: no new keys first, then the runs under way.
      start: async (runtime) => [await startWatcherRole(runtime), await startWorkerRole(runtime)],
    });
  } finally {
    await redis.stop();
  }
  return 0;
}
