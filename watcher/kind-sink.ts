import type { ApiObject } from '../core/api-objects.ts';
import type { Kind } from '../core/codec.ts';
import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { newerVersion, olderVersion } from '../core/resource-version.ts';
import type { Applied, Change } from '../platform/redis/view/view-writer.ts';
import { upsertOf, vanishedAt } from './change-of.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { EventPath } from './event-path.ts';
import type { ReflectorSink, ReflectorState } from './reflector.ts';

export interface KindSinkDeps {
  readonly kind: Kind;
  readonly dispatcher: Dispatcher;
  readonly accepts: (namespace: string) => boolean;
  /** Names of this kind that the view has in each namespace; for what a list did not show. */
  readonly known: () => Promise<ReadonlyMap<string, readonly string[]>>;
  /**
   * Changes whenever the view comes in doubt. All kinds are listed again then, and a list that was under
   * way is no whole one: a part of it may be in another view.
   */
  readonly round: () => number;
  /** Where events go; lists are applied at once. */
  readonly events: EventPath;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onListed: (list: CompleteList) => Promise<void>;
  readonly log: Logger;
  readonly onState: (kind: Kind, state: ReflectorState) => void;
}

/** A list that is in the view. */
export interface CompleteList {
  readonly kind: Kind;
  readonly resourceVersion: string;
  /** Changes that the view did not know. */
  readonly found: number;
  /** The newest version that the watch had shown before the list was asked for; '' if none. */
  readonly seenBefore: string;
  /**
   * It shows an object as older than the view had it by the list's own version: within one history that
   * cannot be. Where other watchers are ahead of the list, the view knows better in good order.
   */
  readonly contradicted: boolean;
  /** Of the view, when the list began. */
  readonly round: number;
}

/**
 * Takes what the reflector of one kind delivers to the dispatcher. A list is compared with the view
 * itself: what the view has and the list has not is gone, as of the list's version.
 */
export class KindSink implements ReflectorSink<ApiObject> {
  readonly #deps: KindSinkDeps;
  #listed = new Map<string, Set<string>>();
  #found = 0;
  #contradicted = '';
  #round: number | null = null;
  #newest = '';

  constructor(deps: KindSinkDeps) {
    this.#deps = deps;
  }

  async onPage(items: readonly ApiObject[]): Promise<void> {
    const { accepts, round } = this.#deps;
    this.#round ??= round();
    const listed = this.#listed;
    const changes = new Map<string, Change[]>();
    for (const item of items) {
      const { namespace = '', name = '' } = item.metadata ?? {};
      if (!accepts(namespace)) continue;
      entry(listed, namespace, () => new Set<string>()).add(name);
      const change = this.#read(item);
      if (change) entry(changes, namespace, () => []).push(change);
    }
    const { accepted, contradicted } = await this.#apply(changes);
    // Abandoned meanwhile: a later list is to be judged by what it shows itself.
    if (this.#listed !== listed) return;
    this.#found += accepted;
    this.#contradicted = olderVersion(this.#contradicted, contradicted);
  }

  async onListed(resourceVersion: string): Promise<void> {
    const { kind, known, onListed } = this.#deps;
    const gone = new Map<string, Change[]>();
    const listed = this.#listed;
    const round = this.#round ?? this.#deps.round();
    const all = await known();
    // Stopped meanwhile. What the list had shown is forgotten: everything would seem to have vanished.
    if (this.#listed !== listed) return;
    // What is gone from one view says nothing about another. The next list is on its way.
    if (round !== this.#deps.round()) {
      this.onListAbandoned();
      return;
    }
    for (const [namespace, names] of all) {
      const seen = listed.get(namespace);
      const vanished = names.filter((name) => !seen?.has(name));
      if (vanished.length === 0) continue;
      const removals = vanished.map((name) => vanishedAt(kind, name, resourceVersion));
      gone.set(namespace, removals);
    }
    const found = this.#found + (await this.#apply(gone)).accepted;
    const contradicted =
      this.#contradicted !== '' &&
      newerVersion(resourceVersion, this.#contradicted) === resourceVersion;
    this.onListAbandoned();
    const seenBefore = this.#newest;
    this.#newest = '';
    await onListed({ kind, resourceVersion, found, seenBefore, contradicted, round });
  }

  onListAbandoned(): void {
    this.#listed = new Map();
    this.#found = 0;
    this.#contradicted = '';
    this.#round = null;
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: ApiObject): void {
    const { accepts, events, now } = this.#deps;
    const { namespace = '', resourceVersion = '' } = object.metadata ?? {};
    this.#newest = newerVersion(resourceVersion, this.#newest);
    if (accepts(namespace)) events.push({ type, namespace, object, at: now() });
  }

  onBatchEnd(): void {
    this.#deps.events.flush();
  }

  /** The newest version that the watch has shown since the last list; '' if none. */
  get newest(): string {
    return this.#newest;
  }

  /** The history of the API server went back: what the watch had shown is of another one. */
  forget(): void {
    this.#newest = '';
  }

  onState(state: ReflectorState): void {
    this.#deps.onState(this.#deps.kind, state);
  }

  stop(): void {
    this.#deps.events.stop();
  }

  /** An object that cannot be read is passed over: it must not stop the list of all others. */
  #read(item: ApiObject): Change | null {
    try {
      return upsertOf(this.#deps.kind, item);
    } catch (error) {
      const { namespace, name } = item.metadata ?? {};
      this.#deps.log.error({ namespace, name, error: describeError(error) }, 'unreadable object');
      return null;
    }
  }

  async #apply(
    changes: ReadonlyMap<string, readonly Change[]>,
  ): Promise<Pick<Applied, 'accepted' | 'contradicted'>> {
    const { dispatcher, now } = this.#deps;
    const seenAt = now();
    const all = await Promise.all(
      [...changes].map(([namespace, list]) => dispatcher.apply(namespace, list, seenAt)),
    );
    return {
      accepted: all.reduce((sum, { accepted }) => sum + accepted, 0),
      contradicted: all.reduce((oldest, one) => olderVersion(oldest, one.contradicted), ''),
    };
  }
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
