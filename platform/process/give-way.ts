import { sleep } from './sleep.ts';

export interface GiveWayDeps {
  /** How many keys of Services are under way, or wait. */
  readonly load: () => number | Promise<number>;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
  /** It is not waited for longer than this, ms. */
  readonly longestMs: number;
}

/** So many keys at once are a burst, such as the first convergence. */
const BURST = 8;
const LOOK_EVERY_MS = 50;

/**
 * Resolves once there is no burst of Service keys, or the time is over: to connect to a cluster takes
 * CPU time, most of it for TLS, that the endpoints of the served cluster are waiting for. What `load`
 * throws counts as no burst: whoever cannot be asked has nothing to do. Gives false where the burst was
 * not seen to end.
 */
export async function giveWay(
  { load, monotonicMs, longestMs }: GiveWayDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const until = monotonicMs() + longestMs;
  while (!signal.aborted && monotonicMs() < until) {
    if (!(await isBurst(load))) return true;
    await sleep(LOOK_EVERY_MS, signal);
  }
  return false;
}

async function isBurst(load: GiveWayDeps['load']): Promise<boolean> {
  try {
    return (await load()) >= BURST;
  } catch {
    return false;
  }
}
