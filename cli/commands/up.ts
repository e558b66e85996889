import type { CommandInput, Io } from '../command.ts';
import { redisForUp } from '../roles/redis.ts';

/** `tether up`: all roles in one process, with a Redis of its own where none is configured. */
export async function run({ config }: CommandInput, { signal }: Io): Promise<number> {
  const starting = redisForUp(config);
  // Awaited below; until then its failure is nobody's.
  starting.catch(() => undefined);
  try {
    // Redis starts while the roles are loaded, which takes longer.
    const { runRoles, startWatcherRole, startWorkerRole } = await loadRoles();
    const { url: redisUrl } = await starting;
    await runRoles({
      name: 'up',
      config,
      redisUrl,
      signal,
      // In this order they stop: no new keys first, then the runs under way.
      start: async (runtime) => [await startWatcherRole(runtime), await startWorkerRole(runtime)],
    });
  } finally {
    await starting.then((redis) => redis.stop());
  }
  return 0;
}

async function loadRoles() {
  const [{ runRoles }, { startWatcherRole }, { startWorkerRole }] = await Promise.all([
    import('../roles/runtime.ts'),
    import('../roles/watcher-role.ts'),
    import('../roles/worker-role.ts'),
  ]);
  return { runRoles, startWatcherRole, startWorkerRole };
}
