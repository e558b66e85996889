import { giveWay } from '../../platform/process/give-way.ts';
import { sleep } from '../../platform/process/sleep.ts';

interface Stoppable {
  stop(): Promise<void>;
}

export interface HeadStart {
  /** Resolves once the served cluster's own view is in sync, and what that dirtied is in the queue. */
  readonly ready: Promise<void>;
  /** How many keys of Services wait or are under way, whichever process they are for. */
  readonly load: () => Promise<number>;
  readonly start: () => readonly Stoppable[];
  /** Told of what `start` threw; nothing was started then. */
  readonly onError: (error: unknown) => void;
}

/**
 * Ms. A served cluster that is slow to be listed, or away, or has work for longer than this, holds the
 * linked ones up no longer.
 */
const LONGEST_MS = 3_000;

/**
 * Starts what linked clusters need once the served cluster is listed and its first slices are written.
 * The start of many connections at once takes all the CPU there is, in the workers as well, which are
 * told of the linked clusters by this; what this cluster's own Services wait for is done in a second.
 */
export function startAfterLocal({ ready, load, start, onError }: HeadStart): Stoppable {
  const [listing, stopping] = [new AbortController(), new AbortController()];
  const monotonicMs = (): number => performance.now();
  const until = monotonicMs() + LONGEST_MS;
  let started: readonly Stoppable[] = [];
  const listed = (): void => listing.abort();
  ready.then(listed, listed);
  const starting = sleep(LONGEST_MS, listing.signal)
    .then(() => giveWay({ load, monotonicMs, longestMs: until - monotonicMs() }, stopping.signal))
    .then(() => {
      if (!stopping.signal.aborted) started = start();
    })
    .catch(onError);
  return {
    stop: async () => {
      stopping.abort();
      listed();
      await starting;
      await Promise.all(started.map((one) => one.stop()));
    },
  };
}
