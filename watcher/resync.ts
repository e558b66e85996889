import { setTimeout as delay } from 'node:timers/promises';
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
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Also done at each turn: looks for slices of other managers. */
  readonly inspect: () => Promise<void>;
  readonly signal: AbortSignal;
}

/** Keys enqueued at once; the rest of a resync is spread over half of the interval. */
const CHUNK = 100;

/**
 * The safety net: every interval one of the watchers lists everything, repairs what differs in the
 * view, and dirties every Service at low priority, spread evenly. Resolves when the signal aborts.
 */
export async function keepResyncing(deps: ResyncDeps): Promise<void> {
  const { claim, intervalMs, log, signal } = deps;
  // The first turn is a whole interval away: starting has just done all of this.
  await claim(intervalMs).catch(() => false);
  while (await passes(intervalMs / 10, signal)) {
    try {
      if (await claim(intervalMs)) await resync(deps);
    } catch (error) {
      log.warn({ error: describeError(error) }, 'a resync failed; the next turn tries again');
    }
  }
}

async function resync(deps: ResyncDeps): Promise<void> {
  const { watcher, queue, log, now, intervalMs, signal } = deps;
  const differences = await watcher.relist('resync');
  await deps.inspect();
  const keys = await watcher.services();
  const chunks = Math.ceil(keys.length / CHUNK);
  for (let at = 0; at < chunks; at++) {
    if (at > 0 && !(await passes(intervalMs / 2 / chunks, signal))) return;
    const seen = now();
    const chunk = keys.slice(at * CHUNK, (at + 1) * CHUNK);
    await queue.addResync(chunk.map((key) => ({ key, reason: 'resync', at: seen })));
  }
  log.info({ services: keys.length, differences }, 'resync: everything listed and enqueued');
}

/** Waits; false when it was cut short by the signal. */
async function passes(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}
