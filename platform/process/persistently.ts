import { backoffMs } from '../../core/backoff.ts';
import { describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { sleep } from './sleep.ts';

const AGAIN = { baseMs: 200, capMs: 5_000 } as const;

/**
 * For work that has to be done in the end and that nobody waits for: each failure is logged, and it is
 * tried again, less and less often, until it is done or the process stops.
 */
export async function persistently(
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
  what: string,
  work: () => Promise<unknown>,
): Promise<void> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (signal.aborted) return;
      const delayMs = backoffMs(failures, AGAIN, Math.random);
      log.warn({ error: describeError(error), delayMs }, `${what} failed; trying again`);
      await sleep(delayMs, signal);
    }
  }
}
