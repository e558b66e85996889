import { describeError } from '../../core/errors.ts';
import type { Runtime } from './runtime.ts';

/** For work that nobody waits for: its failure is logged, unless the process is stopping. */
export function inBackground(
  { log, signal }: Pick<Runtime, 'log' | 'signal'>,
  work: Promise<unknown>,
): void {
  work.catch((error: unknown) => {
    if (!signal.aborted) log.warn({ error: describeError(error) }, 'background work failed');
  });
}
