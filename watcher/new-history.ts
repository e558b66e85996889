import type { Logger } from '../core/logger.ts';
import type { ObjectKey } from '../core/object-key.ts';
import { persistently } from '../platform/process/persistently.ts';
import { sleep } from '../platform/process/sleep.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';

export interface NewHistoryDeps {
  /** Keeps the keys that become dirty pending, and forgets what was seen of the history that is over. */
  readonly hold: () => void;
  /** Enqueues what is pending, and what becomes dirty from now on. */
  readonly goOn: () => void;
  /** Milliseconds from when the new view is in sync until nobody can trust the former one any more. */
  readonly trustedMs: number;
  /** All Services of the view. */
  readonly keys: () => Promise<ObjectKey[]>;
  readonly queue: Pick<WorkQueue, 'addResync'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Logger;
}

const LONGEST_HOLD_MS = 10_000;

/**
 * Takes a watcher from one view to the next when the history of the API server went back. Until the new
 * view is in sync no key is enqueued: a worker that knows the former view alone would plan from it, find
 * its slices right, and nothing would bring the key back before the next resync.
 *
 * The former view loses its marks at once. But another watcher may have prolonged them in between, one
 * that hangs or one of an earlier release: so every Service is looked at once more after these have run
 * out for certain.
 *
 * A kind that cannot be listed for long must not keep the others: after ten seconds keys are enqueued all
 * the same. The former view has no marks by then, so their functions read live.
 */
export class NewHistory {
  readonly #deps: NewHistoryDeps;
  readonly #stop = new AbortController();
  #filling = false;
  #holding: NodeJS.Timeout | undefined;

  constructor(deps: NewHistoryDeps) {
    this.#deps = deps;
  }

  /** Whether a new view is being filled, and what is dirty waits for that. */
  get holds(): boolean {
    return this.#holding !== undefined;
  }

  /** Another view is filled from now on. */
  begin(): void {
    this.#filling = true;
    this.#deps.hold();
    clearTimeout(this.#holding);
    this.#holding = setTimeout(() => {
      this.#holding = undefined;
      this.#deps.goOn();
    }, LONGEST_HOLD_MS);
  }

  /** The view is in sync. */
  opened(): void {
    if (!this.#filling) return;
    this.#filling = false;
    this.#letGo();
    void this.#onceMore();
  }

  stop(): void {
    this.#letGo();
    this.#stop.abort();
  }

  #letGo(): void {
    clearTimeout(this.#holding);
    this.#holding = undefined;
  }

  /** Nothing else would bring these keys back before the next resync: Redis may be away for a moment. */
  async #onceMore(): Promise<void> {
    const { keys, log, now, queue, trustedMs } = this.#deps;
    const { signal } = this.#stop;
    await sleep(trustedMs, signal);
    const at = now();
    const reason = 'the history of the API server went back';
    await persistently({ log, signal }, 'looking at every Service once more', async () =>
      queue.addResync((await keys()).map((key) => ({ key, reason, at }))),
    );
  }
}
