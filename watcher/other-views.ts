import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { sleep } from '../platform/process/sleep.ts';

export interface OtherViewsDeps {
  /** Names of the views that living watchers feed, this one's own among them. */
  readonly fed: () => Promise<readonly string[]>;
  readonly own: string;
  /** Milliseconds between two looks. */
  readonly everyMs: number;
  /** From noticing to telling, ms: a watcher's last word may be older than its last mark. */
  readonly settleMs: number;
  /** Told of the views that nobody feeds any more. */
  readonly onGone: (views: readonly string[]) => Promise<void>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/**
 * Notices when nobody feeds a view any more that is not our own: that of another release, or of another
 * --adopt. Workers that read it do so for as long as its marks last, and what they looked at in that time
 * was old, so that all has to be looked at once more. A watcher that stops in order takes its marks along;
 * one that is killed cannot. A watcher counts as gone after as much silence as the marks last; `settleMs`
 * makes sure of it.
 */
export async function followOtherViews(deps: OtherViewsDeps): Promise<void> {
  let before: ReadonlySet<string> = new Set();
  for (; !deps.signal.aborted; await sleep(deps.everyMs, deps.signal)) {
    try {
      const now = new Set(await deps.fed());
      const gone = [...before].filter((view) => view !== deps.own && !now.has(view));
      if (gone.length > 0) {
        await sleep(deps.settleMs, deps.signal);
        if (deps.signal.aborted) return;
        await deps.onGone(gone);
      }
      before = now;
    } catch (error) {
      // Redis is away; or what was to be done about it failed: the next look tries again.
      deps.log.debug({ error: describeError(error) }, 'could not see what other watchers feed');
    }
  }
}
