import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import { sleep } from '../platform/process/sleep.ts';
import type { Add } from '../platform/redis/queue/work-queue.ts';

export interface KeyFeedDeps {
  readonly enqueue: (adds: readonly Add[]) => Promise<void>;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const RETRY_MS = 500;

/** Takes keys to a queue, each once however often it is added meanwhile, also through an outage of Redis. */
export class KeyFeed {
  readonly #deps: KeyFeedDeps;
  readonly #waiting = new Map<string, Add>();
  readonly #stopping = new AbortController();
  #feeding = false;

  constructor(deps: KeyFeedDeps) {
    this.#deps = deps;
  }

  add(key: ObjectKey, reason: string): void {
    const id = formatKey(key);
    if (!this.#waiting.has(id)) this.#waiting.set(id, { key, reason, at: this.#deps.now() });
    if (this.#feeding) return;
    this.#feeding = true;
    // What one chunk of the network brings goes in one call.
    setImmediate(() => void this.#feed());
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** Never rejects. */
  async #feed(): Promise<void> {
    const { signal } = this.#stopping;
    while (this.#waiting.size > 0 && !signal.aborted) {
      const adds = [...this.#waiting];
      // Taken out before: a key that comes while its add is on the way must be added once more, as a
      // worker may have looked at it already.
      this.#waiting.clear();
      try {
        await this.#deps.enqueue(adds.map(([, add]) => add));
      } catch (error) {
        this.#deps.log.debug({ error: describeError(error) }, 'keys not enqueued; trying again');
        for (const [id, add] of adds) this.#waiting.set(id, add);
        await sleep(RETRY_MS, signal);
      }
    }
    this.#feeding = false;
  }
}
