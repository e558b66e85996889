import { setTimeout as delay } from 'node:timers/promises';
import type { ObjectKey } from '../core/object-key.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';

export interface NewHistoryDeps {
  /** Keeps the keys that become dirty pending, and forgets what was seen of the history that is over. */
  readonly hold: () => void;
  /** Milliseconds from when the new view is in sync until nobody can trust the former one any more. */
  readonly trustedMs: number;
  /** All Services of the view. */
  readonly keys: () => Promise<ObjectKey[]>;
  readonly queue: Pick<WorkQueue, 'addResync'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * Takes a watcher from one view to the next when the history of the API server went back. Until the new
 * view is in sync no key is enqueued: a worker that knows the former view alone would plan from it, find
 * its slices right, and nothing would bring the key back before the next resync.
 *
 * The former view loses its marks at once. But another watcher may have prolonged them in between, one
 * that hangs or one of an earlier release: so every Service is looked at once more after these have run
 * out for certain.
 */
export class NewHistory {
  readonly #deps: NewHistoryDeps;
  readonly #stop = new AbortController();
  #filling = false;

  constructor(deps: NewHistoryDeps) {
    this.#deps = deps;
  }

  /** Whether a new view is being filled: what is dirty waits for its end. */
  get filling(): boolean {
    return this.#filling;
  }

  /** Another view is filled from now on. */
  begin(): void {
    this.#filling = true;
    this.#deps.hold();
  }

  /** The view is in sync. */
  opened(): void {
    if (!this.#filling) return;
    this.#filling = false;
    this.#onceMore().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#deps.onError(error);
    });
  }

  stop(): void {
    this.#stop.abort();
  }

  async #onceMore(): Promise<void> {
    const { keys, now, queue, trustedMs } = this.#deps;
    await delay(trustedMs, undefined, { signal: this.#stop.signal });
    const at = now();
    const reason = 'the history of the API server went back';
    await queue.addResync((await keys()).map((key) => ({ key, reason, at })));
  }
}
