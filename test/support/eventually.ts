import { setTimeout as delay } from 'node:timers/promises';

/** How long to wait for a state. */
export interface EventuallyOptions {
  /** Default 30000. */
  readonly timeoutMs?: number;
  /** Time between two looks. Default 25. */
  readonly intervalMs?: number;
}

/**
 * Waits for a state: calls `look` until it no longer throws, and gives its result.
 *
 * @throws what `look` threw last, with the time waited, once that time is over.
 */
export async function eventually<T>(
  look: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<T> {
  const { timeoutMs = 30_000, intervalMs = 25 } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > deadline) throw afterWaiting(error, timeoutMs);
    }
    await delay(intervalMs);
  }
}

/** Changes the message alone: an assertion's own type and difference are what a reader needs. */
function afterWaiting(error: unknown, timeoutMs: number): unknown {
  if (error instanceof Error) error.message = `still so after ${timeoutMs} ms: ${error.message}`;
  return error;
}
