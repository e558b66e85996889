import { setTimeout as delay } from 'node:timers/promises';
import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { ObjectKey } from '../core/object-key.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';

/** Something that keeps objects in sight, and knows the keys that a resync has looked at. */
interface Resyncable {
  /** Lists everything again; gives the number of differences that it found. */
  relist(reason: string): Promise<number>;
  keys(): Promise<readonly ObjectKey[]>;
}

export interface ResyncDeps {
  /** For the log: `services`. */
  readonly what: string;
  readonly intervalMs: number;
  /** True for one watcher once an interval. */
  readonly claim: (intervalMs: number) => Promise<boolean>;
  readonly watcher: Resyncable;
  readonly queue: Pick<WorkQueue, 'addResync'>;
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
 * view, and has every key looked at, last in line and spread evenly. Resolves when the signal aborts.
 */
export async function keepResyncing(deps: ResyncDeps): Promise<void> {
  const { claim, intervalMs, log, signal } = deps;
  // The first turn is a whole interval away: starting has just done all of this.
  await claim(intervalMs).catch(() => false);
  while (await passes(intervalMs / 10, signal)) {
    try {
      if (await claim(intervalMs)) await resync(deps);
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ error: describeError(error) }, 'a resync failed; the next turn tries again');
    }
  }
}

async function resync(deps: ResyncDeps): Promise<void> {
  const { what, watcher, queue, log, now, intervalMs, signal } = deps;
  const differences = await watcher.relist('resync');
  await deps.inspect();
  const keys = await watcher.keys();
  const chunks = Math.ceil(keys.length / CHUNK);
  for (let at = 0; at < chunks; at++) {
    if (at > 0 && !(await passes(intervalMs / 2 / chunks, signal))) return;
    const seen = now();
    const chunk = keys.slice(at * CHUNK, (at + 1) * CHUNK);
    await queue.addResync(chunk.map((key) => ({ key, reason: 'resync', at: seen })));
  }
  log.info({ [what]: keys.length, differences }, 'resync: everything listed and enqueued');
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
