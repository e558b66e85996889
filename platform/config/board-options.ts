import { optional, withDefault } from './option-spec.ts';
import { anyText, hostAndPort, yesOrNo } from './parse.ts';

/** Options of the board, which shows the jobs of both queues. */
export const BOARD_OPTIONS = {
  boardAddr: optional(
    'board-addr',
    'HOST:PORT',
    hostAndPort,
    'where the board of jobs is shown (default: nowhere; tether board: any free port of 127.0.0.1)',
  ),
  boardPassword: {
    ...optional('board-password', 'TEXT', anyText, 'password of the board; its user is tether'),
    secret: true,
  },
  boardPasswordFile: optional(
    'board-password-file',
    'FILE',
    anyText,
    'file that holds this password; read again when it changes',
  ),
  boardWritable: withDefault(
    'board-writable',
    'false',
    'true|false',
    yesOrNo,
    'whether the board may retry and promote jobs',
  ),
} as const;
