import { randomUUID } from 'node:crypto';
import type { ApiObject } from '../../../core/api-objects.ts';
import { DOUBLE_KINDS, kindOf, type DoubleKind, type DoublePlural } from './kinds.ts';
import type { Selector } from './selector.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One object as it is stored, its texts made once however many read them. */
interface Stored {
  readonly object: ApiObject;
  readonly uid: string;
  /** As an item of a list. */
  readonly item: string;
  /** As the object of an event. */
  readonly whole: string;
}

interface Change {
  readonly version: number;
  readonly before: Stored | undefined;
  /** Of a deletion: the last state, with the version of the deletion. */
  readonly after: Stored;
  readonly deleted: boolean;
  readonly line: string;
}

/** A page of a list. */
export interface DoublePage {
  readonly version: number;
  readonly items: readonly string[];
  /** Objects after this page. */
  readonly left: number;
  /** The last key of this page. */
  readonly last: string;
}

/** Where a list goes on. */
export interface ListPosition {
  readonly version: number;
  /** Keys after this one. */
  readonly after: string;
}

/** What an API server keeps of one kind; versions are shared by all kinds, as in etcd. */
class KindStore {
  readonly objects = new Map<string, Stored>();
  readonly listeners = new Set<(change: Change) => void>();
  /** What lists under way show, by version; in the order of keys. */
  readonly snapshots = new Map<number, readonly (readonly [string, Stored])[]>();
  history: Change[] = [];
}

/** More is forgotten, oldest first, as the watch cache of an API server does. */
const MAX_HISTORY = 5_000;
const MAX_SNAPSHOTS = 20;

/** The objects of a double, their history, and who listens to it. */
export class DoubleStore {
  /** Of the last change. */
  version = 100;
  /** Changes up to this one are forgotten. */
  forgotten = 0;
  readonly #kinds = new Map(DOUBLE_KINDS.map(({ plural }) => [plural, new KindStore()]));

  /** Creates an object or replaces it; gives it as it is stored. */
  put(plural: DoublePlural, object: ApiObject): ApiObject {
    const store = this.#of(plural);
    const key = keyOf(object);
    const before = store.objects.get(key);
    const after = this.#stamp(kindOf(plural), object, before?.uid ?? randomUUID());
    store.objects.set(key, after);
    this.#record(store, { before, after, deleted: false });
    return after.object;
  }

  /** @throws {Error} when there is no such object. */
  remove(plural: DoublePlural, key: string): void {
    const store = this.#of(plural);
    const before = store.objects.get(key);
    if (before === undefined) throw new Error(`the double has no ${plural} ${key}`);
    store.objects.delete(key);
    const after = this.#stamp(kindOf(plural), before.object, before.uid);
    this.#record(store, { before, after, deleted: true });
  }

  count(plural: DoublePlural): number {
    return this.#of(plural).objects.size;
  }

  /** Forgets all history, and what lists under way have not shown yet. */
  compact(): void {
    this.forgotten = this.version;
    for (const store of this.#kinds.values()) {
      store.history = [];
      store.snapshots.clear();
    }
  }

  /** As after a restore from a backup: what there is has versions up to this one, and nothing came after. */
  goBackTo(version: number): void {
    const stores = [...this.#kinds];
    this.version = version - stores.reduce((sum, [, { objects }]) => sum + objects.size, 0);
    this.forgotten = Math.min(this.forgotten, this.version);
    for (const [plural, store] of stores) {
      store.history = [];
      store.snapshots.clear();
      for (const [key, { object, uid }] of store.objects) {
        store.objects.set(key, this.#stamp(kindOf(plural), object, uid));
      }
    }
  }

  /** One page; undefined when it goes on from a version that is forgotten. */
  list(
    plural: DoublePlural,
    limit: number,
    from: ListPosition | undefined,
    selector: Selector | undefined,
  ): DoublePage | undefined {
    const store = this.#of(plural);
    const all = from === undefined ? sorted(store) : store.snapshots.get(from.version);
    if (all === undefined) return undefined;
    const version = from?.version ?? this.version;
    const rest = all.filter(
      ([key, { object }]) => key > (from?.after ?? '') && (selector?.(object) ?? true),
    );
    const shown = rest.slice(0, limit);
    const left = rest.length - shown.length;
    if (left > 0) remember(store, version, all);
    const last = shown.at(-1)?.[0] ?? '';
    return { version, items: shown.map(([, { item }]) => item), left, last };
  }

  /** Lines that bring a watch without a version up to date: every object as if it had been added. */
  present(plural: DoublePlural, selector: Selector | undefined): string[] {
    const found = sorted(this.#of(plural)).filter(([, { object }]) => selector?.(object) ?? true);
    return found.map(([, { whole }]) => lineOf('ADDED', whole));
  }

  /** Gives the lines of all that changed after `version`, now and from now on; returns its end. */
  follow(
    plural: DoublePlural,
    version: number,
    selector: Selector | undefined,
    take: (line: string) => void,
  ): () => void {
    const store = this.#of(plural);
    const listener = (change: Change): void => {
      const line = selector === undefined ? change.line : selectedLine(change, selector);
      if (line !== undefined) take(line);
    };
    for (const change of store.history) if (change.version > version) listener(change);
    store.listeners.add(listener);
    return () => void store.listeners.delete(listener);
  }

  #of(plural: DoublePlural): KindStore {
    const store = this.#kinds.get(plural);
    if (store === undefined) throw new Error(`the double does not serve ${plural}`);
    return store;
  }

  #stamp(kind: DoubleKind, given: ApiObject, uid: string): Stored {
    this.version += 1;
    const metadata = {
      creationTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
      ...given.metadata,
      uid,
      resourceVersion: String(this.version),
    };
    const object = { ...given, kind: kind.kind, apiVersion: kind.apiVersion, metadata };
    const whole = JSON.stringify(object);
    return { object, uid, whole, item: kind.itemsNameTheirKind ? whole : namelessText(object) };
  }

  #record(store: KindStore, change: Omit<Change, 'version' | 'line'>): void {
    const { before, after, deleted } = change;
    const type = deleted ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
    const line = lineOf(type, after.whole);
    const recorded = { ...change, version: this.version, line };
    store.history.push(recorded);
    if (store.history.length > MAX_HISTORY) {
      const gone = store.history.splice(0, MAX_HISTORY / 2);
      this.forgotten = Math.max(this.forgotten, gone.at(-1)?.version ?? 0);
    }
    for (const listener of store.listeners) listener(recorded);
  }
}

function namelessText(object: ApiObject): string {
  // What is undefined is not written.
  return JSON.stringify({ ...object, kind: undefined, apiVersion: undefined });
}

/** `namespace/name`; API servers list in the order of these bytes. */
function keyOf({ metadata }: ApiObject): string {
  if (metadata?.namespace === undefined || metadata.name === undefined) {
    throw new Error('an object of the double needs a namespace and a name');
  }
  return `${metadata.namespace}/${metadata.name}`;
}

function sorted(store: KindStore): [string, Stored][] {
  return [...store.objects].sort(([a], [b]) => (a < b ? -1 : 1));
}

function remember(
  store: KindStore,
  version: number,
  all: readonly (readonly [string, Stored])[],
): void {
  store.snapshots.set(version, all);
  const [oldest] = store.snapshots.keys();
  if (store.snapshots.size > MAX_SNAPSHOTS && oldest !== undefined) store.snapshots.delete(oldest);
}

function lineOf(type: EventType, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

/** What comes into a selection is added to it, and what leaves it is deleted from it. */
function selectedLine(change: Change, selector: Selector): string | undefined {
  const { before, after, deleted, version } = change;
  const was = before !== undefined && selector(before.object);
  const is = !deleted && selector(after.object);
  if (is) return lineOf(was ? 'MODIFIED' : 'ADDED', after.whole);
  if (!was) return undefined;
  const last = JSON.parse(before.whole) as { metadata: object };
  const metadata = { ...last.metadata, resourceVersion: String(version) };
  return lineOf('DELETED', JSON.stringify({ ...last, metadata }));
}
