import type { ApiObject } from '../core/api-objects.ts';
import type { Kind } from '../core/codec.ts';
import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { ViewWriter } from '../platform/redis/view/view-writer.ts';
import { removalOf, upsertOf } from './change-of.ts';
import type { Dispatcher } from './dispatcher.ts';

/** One watch event, with when it was seen (ms since 1970). */
export interface SeenEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly namespace: string;
  readonly object: ApiObject;
  readonly at: number;
}

/** How the events of one kind get to the dispatcher. */
export interface EventPath {
  push(event: SeenEvent): void;
  /** A batch of the watch is over. */
  flush(): void;
  stop(): void;
}

/** At once. */
export class DirectPath implements EventPath {
  readonly #kind: Kind;
  readonly #dispatcher: Dispatcher;

  constructor(kind: Kind, dispatcher: Dispatcher) {
    this.#kind = kind;
    this.#dispatcher = dispatcher;
  }

  push(event: SeenEvent): void {
    handOn(this.#dispatcher, this.#kind, event);
  }

  flush(): void {
    this.#dispatcher.flush();
  }

  stop(): void {
    // Nothing is held back.
  }
}

/** Milliseconds. Events are gathered for `gather`, then wait for `wait`. */
const JUDGE = { gather: 50, wait: 100 } as const;

/**
 * For slices: most of their events are echoes of our own writes. Two thirds of these come before
 * their writer has recorded them, and all of the records are there 50 ms later (measured); so events
 * are judged 100 to 150 ms after they came, many at once, by their versions alone, and only what is
 * news is handed on.
 */
export class EchoFilter implements EventPath {
  readonly #kind: Kind;
  readonly #dispatcher: Dispatcher;
  readonly #writer: () => ViewWriter;
  readonly #log: Logger;
  readonly #timers = new Set<NodeJS.Timeout>();
  #gathering: SeenEvent[] | null = null;

  constructor(kind: Kind, dispatcher: Dispatcher, writer: () => ViewWriter, log: Logger) {
    this.#kind = kind;
    this.#dispatcher = dispatcher;
    this.#writer = writer;
    this.#log = log;
  }

  push(event: SeenEvent): void {
    if (this.#gathering) {
      this.#gathering.push(event);
      return;
    }
    const events = [event];
    this.#gathering = events;
    this.#after(JUDGE.gather, () => {
      this.#gathering = null;
      this.#after(JUDGE.wait, () => this.#judgeAll(events));
    });
  }

  flush(): void {
    // Timers do it.
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #after(ms: number, then: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      then();
    }, ms);
    this.#timers.add(timer);
  }

  #judgeAll(events: readonly SeenEvent[]): void {
    for (const [namespace, some] of Map.groupBy(events, (event) => event.namespace)) {
      this.#judge(namespace, some).catch((error: unknown) => {
        this.#log.debug({ namespace, error: describeError(error) }, 'could not judge slices');
      });
    }
  }

  async #judge(namespace: string, events: readonly SeenEvent[]): Promise<void> {
    const versions = events.map(({ type, object: { metadata = {} } }) => ({
      op: type === 'DELETED' ? ('remove' as const) : ('upsert' as const),
      name: metadata.name ?? '',
      rv: metadata.resourceVersion ?? '',
      uid: metadata.uid ?? '',
    }));
    // Where Redis cannot tell, everything is news: the dispatcher waits for Redis, and asks again.
    const news = await this.#writer()
      .news(namespace, this.#kind, versions)
      .catch(() => versions.map(() => true));
    events
      .filter((_, at) => news[at])
      .forEach((event) => handOn(this.#dispatcher, this.#kind, event));
    this.#dispatcher.flush();
  }
}

function handOn(dispatcher: Dispatcher, kind: Kind, event: SeenEvent): void {
  const { type, namespace, object, at } = event;
  const change = type === 'DELETED' ? removalOf(kind, object) : upsertOf(kind, object);
  dispatcher.push(namespace, change, at);
}
