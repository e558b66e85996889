import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';
import type { LocalWatcher } from './local-watcher.ts';

export interface ResyncDeps {
  readonly intervalMs: number;
  /** True for one watcher once an interval. */
  readonly claim: (intervalMs: number) => Promise<boolean>;
  readonly watcher: Pick<LocalWatcher, 'relist' | 'services'>;
  readonly queue: WorkQueue;
  readonly log: Logger;
  readonly now: () => number;
  /** Also done each time: looks for slices of other managers. */
  readonly inspect: () => Promise<void>;
}

/** Keys enqueued at once; the rest of the resync is spread over half of the interval. */
const CHUNK = 100;

/**
 * The safety net: every interval one of the watchers lists everything, repairs what differs in the
 * view, and dirties every Service at low priority, spread evenly.
 */
export function startResync(deps: ResyncDeps): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const spread = async (): Promise<void> => {
    const keys = await deps.watcher.services();
    const chunks = Math.ceil(keys.length / CHUNK);
    for (let at = 0; at < chunks && !stopped; at++) {
      const chunk = keys.slice(at * CHUNK, (at + 1) * CHUNK);
      const seen = deps.now();
      await deps.queue.addResync(chunk.map((key) => ({ key, reason: 'resync', at: seen })));
      if (at + 1 < chunks) await pause(deps.intervalMs / 2 / chunks);
    }
    deps.log.info({ services: keys.length }, 'resync: all Services enqueued');
  };
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      timer = setTimeout(resolve, ms);
    });
  const turn = async (): Promise<void> => {
    if (!(await deps.claim(deps.intervalMs))) return;
    const differences = await deps.watcher.relist('resync');
    deps.log.info({ differences }, 'resync: the view was compared with a list');
    await deps.inspect();
    await spread();
  };
  const loop = async (): Promise<void> => {
    // The first turn is a whole interval away: starting has just done all of this.
    await deps.claim(deps.intervalMs).catch(() => false);
    while (!stopped) {
      await pause(deps.intervalMs / 10);
      if (stopped) return;
      await turn().catch((error: unknown) => {
        deps.log.warn({ error: describeError(error) }, 'resync failed; the next turn tries again');
      });
    }
  };
  const running = loop();
  running.catch(() => undefined);
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
