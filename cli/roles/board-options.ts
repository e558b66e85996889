import { InvalidInputError } from '../../core/errors.ts';
import type { Config } from '../../platform/config.ts';

/**
 * To be called before anything is started: by itself, so that `tether up` loads no more than this.
 *
 * @throws InvalidInputError when a board has no password: whoever reads jobs reads names, and with
 * `--board-writable` makes work.
 */
export function requireBoardPassword({
  boardPassword,
  boardPasswordFile,
}: Pick<Config, 'boardPassword' | 'boardPasswordFile'>): void {
  // An empty one would be right for whoever types none.
  if (boardPassword !== undefined && boardPassword !== '') return;
  if (boardPassword === undefined && boardPasswordFile !== undefined) return;
  throw new InvalidInputError(
    'board-password',
    '--board-password: the board wants a password; give one, or --board-password-file',
  );
}
