import type { ApiObject } from '../core/api-objects.ts';
import type { Kind } from '../core/codec.ts';
import type { Change } from '../platform/redis/view/view-writer.ts';
import { removalOf, upsertOf, vanishedAt } from './change-of.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { ReflectorSink, ReflectorState } from './reflector.ts';

export interface KindSinkDeps {
  readonly kind: Kind;
  readonly dispatcher: Dispatcher;
  readonly accepts: (namespace: string) => boolean;
  /** Names of this kind that the view has in each namespace; for what a list did not show. */
  readonly known: () => Promise<ReadonlyMap<string, readonly string[]>>;
  /** Events are handed on so much later, ms; 0: at once. */
  readonly delayMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A list is complete; `found` changes were unknown to the view. */
  readonly onListed: (kind: Kind, resourceVersion: string, found: number) => Promise<void>;
  readonly onState: (kind: Kind, state: ReflectorState) => void;
}

/**
 * Takes what the reflector of one kind delivers to the dispatcher. A list is compared with the view
 * itself: what the view has and the list has not is gone, as of the list's version.
 */
export class KindSink implements ReflectorSink<ApiObject> {
  readonly #deps: KindSinkDeps;
  readonly #events: DelayedEvents;
  #listed = new Map<string, Set<string>>();
  #found = 0;

  constructor(deps: KindSinkDeps) {
    this.#deps = deps;
    this.#events = new DelayedEvents(deps.dispatcher, deps.delayMs);
  }

  async onPage(items: readonly ApiObject[]): Promise<void> {
    const { kind, accepts } = this.#deps;
    const changes = new Map<string, Change[]>();
    for (const item of items) {
      const { namespace = '', name = '' } = item.metadata ?? {};
      if (!accepts(namespace)) continue;
      entry(changes, namespace, () => []).push(upsertOf(kind, item));
      entry(this.#listed, namespace, () => new Set<string>()).add(name);
    }
    this.#found += await this.#apply(changes);
  }

  async onListed(resourceVersion: string): Promise<void> {
    const { kind, known, onListed } = this.#deps;
    const gone = new Map<string, Change[]>();
    for (const [namespace, names] of await known()) {
      const seen = this.#listed.get(namespace);
      const vanished = names.filter((name) => !seen?.has(name));
      if (vanished.length === 0) continue;
      const removals = vanished.map((name) => vanishedAt(kind, name, resourceVersion));
      gone.set(namespace, removals);
    }
    const found = this.#found + (await this.#apply(gone));
    this.onListAbandoned();
    await onListed(kind, resourceVersion, found);
  }

  onListAbandoned(): void {
    this.#listed = new Map();
    this.#found = 0;
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: ApiObject): void {
    const { kind, accepts, now } = this.#deps;
    const namespace = object.metadata?.namespace ?? '';
    if (!accepts(namespace)) return;
    const change = type === 'DELETED' ? removalOf(kind, object) : upsertOf(kind, object);
    this.#events.push(namespace, change, now());
  }

  onBatchEnd(): void {
    this.#events.flush();
  }

  onState(state: ReflectorState): void {
    this.#deps.onState(this.#deps.kind, state);
  }

  stop(): void {
    this.#events.stop();
  }

  async #apply(changes: ReadonlyMap<string, readonly Change[]>): Promise<number> {
    const { dispatcher, now } = this.#deps;
    const seenAt = now();
    const counts = await Promise.all(
      [...changes].map(([namespace, list]) => dispatcher.apply(namespace, list, seenAt)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

type Push = Parameters<Dispatcher['push']>;

/**
 * Hands events on after a while. Slices need it: two thirds of the echoes of our own writes come
 * before their writer has recorded them, and all of the records are there 50 ms later (measured), so
 * after 100 ms an echo is no news.
 */
class DelayedEvents {
  readonly #dispatcher: Dispatcher;
  readonly #delayMs: number;
  readonly #timers = new Set<NodeJS.Timeout>();
  #batch: Push[] = [];

  constructor(dispatcher: Dispatcher, delayMs: number) {
    this.#dispatcher = dispatcher;
    this.#delayMs = delayMs;
  }

  push(...event: Push): void {
    this.#batch.push(event);
  }

  flush(): void {
    const due = this.#batch;
    this.#batch = [];
    if (this.#delayMs === 0) return this.#handOn(due);
    if (due.length === 0) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#handOn(due);
    }, this.#delayMs);
    this.#timers.add(timer);
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #handOn(events: readonly Push[]): void {
    for (const event of events) this.#dispatcher.push(...event);
    this.#dispatcher.flush();
  }
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
