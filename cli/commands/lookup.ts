import { TetherError } from '../../core/errors.ts';

class NotYetError extends TetherError {
  readonly code = 'NotYet';
}

/** Look-ups come with a later release; scripts that already ask get a sentence and exit code 1. */
export function run(): Promise<number> {
  return Promise.reject(
    new NotYetError('lookup comes with a later release; this one serves external workloads'),
  );
}
