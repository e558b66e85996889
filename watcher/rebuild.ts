import type { ObjectKey } from '../core/object-key.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';

export interface RebuildDeps {
  /** Resolves once there is something to fill anew. */
  readonly ready: () => Promise<void>;
  /** Lists everything again, into a view that is trusted no more. */
  readonly relist: (reason: string) => Promise<unknown>;
  /** All Services of the view. */
  readonly keys: () => Promise<ObjectKey[]>;
  readonly queue: Pick<WorkQueue, 'addResync'>;
  readonly stopped: () => boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Fills a view anew that may have lost data, and dirties every Service, as the queue may have lost keys. */
export class Rebuild {
  readonly #deps: RebuildDeps;
  #running: Promise<void> | null = null;
  #again = false;

  constructor(deps: RebuildDeps) {
    this.#deps = deps;
  }

  /**
   * Asked again while it is at it, it does all of it once more afterwards: what it did by then, lists
   * and keys alike, may have gone into what was lost. Rejects when a part of it fails.
   */
  run(reason: string): Promise<void> {
    this.#again = this.#running !== null;
    this.#running ??= this.#untilWhole(reason);
    return this.#running;
  }

  async #untilWhole(reason: string): Promise<void> {
    try {
      await this.#deps.ready();
      do {
        this.#again = false;
        await this.#once(reason);
      } while (this.#again && !this.#deps.stopped());
    } finally {
      // In the same turn as the last look at #again: nobody may ask in between.
      this.#running = null;
    }
  }

  async #once(reason: string): Promise<void> {
    const { relist, keys, queue, stopped, now } = this.#deps;
    if (stopped()) return;
    await relist(reason);
    const at = now();
    await queue.addResync((await keys()).map((key) => ({ key, reason, at })));
  }
}
