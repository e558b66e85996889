import type { ApiObject } from '../core/api-objects.ts';
import { LABEL_MANAGED_BY } from '../core/names.ts';
import { formatKey } from '../core/object-key.ts';
import type { EventPath, SeenEvent } from './event-path.ts';

export interface AdoptionPathDeps {
  /** Where every event ends up. */
  readonly next: EventPath;
  /** Managers whose slices are taken over. */
  readonly adopt: readonly string[];
  /** How long what such a manager writes is left alone, ms. */
  readonly delayMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A minute: often enough to end a take-over that was begun too early, too seldom to be a fight. */
export const ADOPTION_DELAY_MS = 60_000;

/**
 * Holds back what a manager does from whom slices are taken over. Lists bring in its slices at once; but
 * one that writes a slice after that has not stopped, and would write another for each that is taken
 * from it. So its events come through once a minute, the last of each slice, and until then nothing is
 * planned with what they tell. The events of our own slices pass at once.
 */
export class AdoptionPath implements EventPath {
  readonly #deps: AdoptionPathDeps;
  readonly #held = new Map<string, SeenEvent>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: AdoptionPathDeps) {
    this.#deps = deps;
  }

  push(event: SeenEvent): void {
    const key = formatKey({ namespace: event.namespace, name: event.object.metadata?.name ?? '' });
    if (!this.#isToAdopt(event.object)) {
      // What was held of this slice is older.
      this.#held.delete(key);
      this.#deps.next.push(event);
      return;
    }
    this.#held.set(key, event);
    this.#timer ??= setTimeout(() => this.#release(), this.#deps.delayMs);
  }

  flush(): void {
    this.#deps.next.flush();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#deps.next.stop();
  }

  #isToAdopt({ metadata }: ApiObject): boolean {
    return this.#deps.adopt.includes(metadata?.labels?.[LABEL_MANAGED_BY] ?? '');
  }

  #release(): void {
    this.#timer = undefined;
    // That it was held is no delay of a write.
    const at = this.#deps.now();
    for (const event of this.#held.values()) this.#deps.next.push({ ...event, at });
    this.#held.clear();
    this.#deps.next.flush();
  }
}
