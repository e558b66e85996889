import type { CommandInput, Io } from '../command.ts';
import { requireBoardPassword } from '../roles/board-options.ts';
import { startLate } from '../roles/late-role.ts';
import { redisForUp } from '../roles/redis.ts';
import type { Role, Runtime } from '../roles/runtime.ts';

/**
 * `tether up`: watcher, worker and look-ups in one process, the board too where it has an address; with a Redis
 * of its own where none is configured.
 */
export async function run({ config }: CommandInput, { signal }: Io): Promise<number> {
  if (config.boardAddr !== undefined) requireBoardPassword(config);
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
      start: async (runtime) =>
        withServers(runtime, [await startWatcherRole(runtime), await startWorkerRole(runtime)]),
    });
  } finally {
    await starting.then((redis) => redis.stop());
  }
  return 0;
}

/** In the order given they stop: no new keys first, then the runs under way. */
function withServers(runtime: Runtime, others: readonly Role[]): readonly Role[] {
  const lookup = async (): Promise<Role> => {
    const { startLookupRole } = await import('../roles/lookup-role.ts');
    return startLookupRole(runtime);
  };
  const board = async (): Promise<Role> => {
    const { startBoardRole } = await import('../roles/board-role.ts');
    return startBoardRole(runtime);
  };
  const late = [startLate({ name: 'lookup', after: others, start: lookup })];
  if (runtime.config.boardAddr !== undefined) {
    late.push(startLate({ name: 'board', after: others, start: board }));
  }
  return [...others, ...late];
}

async function loadRoles() {
  const [{ runRoles }, { startWatcherRole }, { startWorkerRole }] = await Promise.all([
    import('../roles/runtime.ts'),
    import('../roles/watcher-role.ts'),
    import('../roles/worker-role.ts'),
  ]);
  return { runRoles, startWatcherRole, startWorkerRole };
}
