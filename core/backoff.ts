/** Bounds of one exponential sequence, in milliseconds. */
export interface BackoffBounds {
  /** The first step. */
  readonly baseMs: number;
  /** No delay is ever longer. */
  readonly capMs: number;
}

/** Of a key that fails: from 50 ms to a minute (docs/queue.md, guarantee 4). */
export const KEY_BACKOFF: BackoffBounds = { baseMs: 50, capMs: 60_000 };

/**
 * How long to wait, in whole milliseconds, after `failures` failures in a row (1 after the first).
 *
 * The sequence of steps is base, 2·base, 4·base … up to the cap: 50 ms, 100, 200 … 51.2 s, 60 s, 60 s
 * for 50 ms → 60 s. The delay is drawn evenly from the upper half of its step, so that those who
 * failed together do not come back together, and nobody waits less than half of what is documented.
 * 0 when nothing failed.
 *
 * @param random gives numbers in [0, 1), as `Math.random` does.
 */
export function backoffMs(failures: number, bounds: BackoffBounds, random: () => number): number {
  if (!(failures > 0)) return 0;
  const step = Math.min(bounds.capMs, bounds.baseMs * 2 ** (failures - 1));
  return Math.round(step / 2 + (step / 2) * random());
}
