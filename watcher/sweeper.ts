import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { inParallel } from '../platform/process/in-parallel.ts';

/** Milliseconds. `grace`: how long whoever dirtied a key has for its own queue add. */
const SWEEP = { grace: 250, everything: 10_000 } as const;

/** Workers take the first keys while the last are still being enqueued. */
const NAMESPACES_AT_A_TIME = 2;

/**
 * Sweeps each namespace, a few at a time. One that fails is left to the next look at everything.
 *
 * @throws the first failure, once all were tried.
 */
export async function sweepEach(
  namespaces: readonly string[],
  sweep: (namespace: string) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  await inParallel(namespaces, NAMESPACES_AT_A_TIME, async (namespace) => {
    await sweep(namespace).catch((error: unknown) => failures.push(error));
  });
  if (failures.length > 0) throw failures[0];
}

export interface Sweeper {
  /** Looks at a namespace's pending keys once their grace is over. */
  later(namespace: string): void;
  stop(): void;
}

/**
 * Enqueues what a dead watcher left pending. A change that was refused here was accepted from another
 * watcher a moment ago: that one owes the queue add, so its namespace is looked at 250 ms later. All
 * namespaces are looked at every 10 s, whoever was refused.
 */
export function createSweeper(deps: {
  readonly sweep: (namespace: string, olderThanMs: number) => Promise<number>;
  readonly namespaces: () => Promise<readonly string[]>;
  readonly log: Logger;
}): Sweeper {
  const timers = new Map<string, NodeJS.Timeout>();
  const sweep = (namespace: string): void => {
    deps.sweep(namespace, SWEEP.grace).then(
      (count) => {
        if (count > 0) deps.log.info({ namespace, count }, 'enqueued keys that were left pending');
      },
      (error: unknown) =>
        deps.log.debug({ namespace, error: describeError(error) }, 'sweep failed'),
    );
  };
  const everything = setInterval(() => {
    deps.namespaces().then(
      (namespaces) => namespaces.forEach(sweep),
      (error: unknown) => deps.log.debug({ error: describeError(error) }, 'sweep failed'),
    );
  }, SWEEP.everything);

  return {
    later: (namespace) => {
      if (timers.has(namespace)) return;
      const timer = setTimeout(() => {
        timers.delete(namespace);
        sweep(namespace);
      }, SWEEP.grace + 10);
      timers.set(namespace, timer);
    },
    stop: () => {
      clearInterval(everything);
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}
