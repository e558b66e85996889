import { sleep } from '../platform/process/sleep.ts';

export interface GiveWayDeps {
  /** How many runs of Service keys are under way in this process. */
  readonly runs: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** With so many runs at once a worker is in the middle of a burst, such as the first convergence. */
const BURST = 8;
/** A probe begins so late at most, ms. */
const LONGEST_MS = 3_000;
const LOOK_EVERY_MS = 50;

/**
 * Resolves once this process is not in a burst of Service keys, or after 3 s: to connect to a cluster
 * takes CPU time, most of it for TLS, that the endpoints of the served cluster are waiting for.
 */
export async function giveWay(
  { runs, monotonicMs }: GiveWayDeps,
  signal: AbortSignal,
): Promise<void> {
  const until = monotonicMs() + LONGEST_MS;
  while (runs() >= BURST && monotonicMs() < until && !signal.aborted) {
    await sleep(LOOK_EVERY_MS, signal);
  }
}
