import type { CommandInput, Io } from '../command.ts';
import { requireBoardPassword } from '../roles/board-options.ts';
import { startBoardRole } from '../roles/board-role.ts';
import { runOnRedisAlone } from '../roles/redis-alone.ts';

/** `tether board`: shows the jobs of both queues in a browser, until it is stopped. */
export async function run({ config }: CommandInput, { signal }: Io): Promise<number> {
  requireBoardPassword(config);
  await runOnRedisAlone({ name: 'board', config, signal, start: startBoardRole });
  return 0;
}
