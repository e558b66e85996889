import type { CommandInput, Io } from '../command.ts';
import { redisForUp } from '../roles/redis.ts';
import { openRuntime, runRoles } from '../roles/runtime.ts';
import { startWatcherRole } from '../roles/watcher-role.ts';
import { startWorkerRole } from '../roles/worker-role.ts';

/** `tether up`: all roles in one process, with a Redis of its own where none is configured. */
export async function run({ config }: CommandInput, io: Io): Promise<number> {
  const redis = await redisForUp(config);
  try {
    const runtime = await openRuntime('up', config, redis.url, io.signal);
    try {
      const watcher = await startWatcherRole(runtime);
      const worker = await startWorkerRole(runtime);
      await runRoles(runtime, [watcher, worker]);
    } finally {
      await runtime.close();
    }
  } finally {
    await redis.stop();
  }
  return 0;
}
