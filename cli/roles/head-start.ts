import { sleep } from '../../platform/process/sleep.ts';

interface Stoppable {
  stop(): Promise<void>;
}

/** Ms. A served cluster that is slow to be listed, or away, holds the linked ones up no longer. */
const LONGEST_MS = 3_000;

/**
 * Starts what linked clusters need once the served cluster is listed. The start of many connections at
 * once takes all the CPU there is, and what this cluster's own Services wait for is done in a second.
 *
 * @param ready resolves once the served cluster's own view is in sync.
 * @param onError told of what `start` threw; nothing was started then.
 */
export function startAfterLocal(
  ready: Promise<void>,
  start: () => readonly Stoppable[],
  onError: (error: unknown) => void,
): Stoppable {
  const waiting = new AbortController();
  let stopped = false;
  let started: readonly Stoppable[] = [];
  const goOn = (): void => waiting.abort();
  ready.then(goOn, goOn);
  const starting = sleep(LONGEST_MS, waiting.signal)
    .then(() => {
      if (!stopped) started = start();
    })
    .catch(onError);
  return {
    stop: async () => {
      stopped = true;
      goOn();
      await starting;
      await Promise.all(started.map((one) => one.stop()));
    },
  };
}
