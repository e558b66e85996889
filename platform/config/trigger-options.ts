import { optional, withDefault } from './option-spec.ts';
import { anyText, hostAndPort, seconds } from './parse.ts';

/** Options of whoever asks for reconciles over HTTP: of a queue, or of a function that runs them itself. */
export const TRIGGER_OPTIONS = {
  triggerToken: {
    ...optional(
      'trigger-token',
      'TEXT',
      anyText,
      'bearer token that requests for a reconcile bring',
    ),
    secret: true,
  },
  triggerTokenFile: optional(
    'trigger-token-file',
    'FILE',
    anyText,
    'file that holds this token; read again when it changes',
  ),
  functionAddr: optional(
    'function-addr',
    'HOST:PORT',
    hostAndPort,
    'where `tether function` answers (default: every address at $PORT, else 127.0.0.1:0)',
  ),
  functionDeadlineMs: withDefault(
    'function-deadline',
    '30',
    'SECONDS',
    seconds(1, 900),
    'how long `tether function` may take for one request',
  ),
} as const;
