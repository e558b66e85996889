import type { EndpointSet } from './endpoint-set.ts';

/**
 * What a process knows of one Service of one cluster. Changes are counted rather than flagged: a change
 * that comes while the Service is being read makes `wanted` run ahead again, and it is read once more.
 */
export class Entry {
  readonly cluster: string;
  /** `namespace/name`. */
  readonly key: string;
  /** The last known endpoints; null when the Service is known not to exist, or nothing is known. */
  set: EndpointSet | null = null;
  /** Whether the view ever answered: only then does a `set` of null mean that there is no Service. */
  known = false;
  /** Whether the last reading found a view in sync; else `set` is from an earlier one. */
  current = false;
  /** The generation of the view that `set` is from. */
  generation = 0;
  /** How often its cluster was forgotten: what was read from before that is of no use. */
  forgotten = 0;
  /** How many changes are known of, and up to which of them it was read. */
  wanted = 1;
  done = 0;
  /** Why the last reading failed; '' when it did not. */
  failure = '';
  reading: Promise<void> | null = null;
  /** ExternalWorkloads that changed since the reading began, by key; null: none is under way. */
  heard: Set<string> | null = null;
  /** When the first change was heard of that was not read yet, ms of a monotonic clock. */
  changedAt: number | null = null;
  /** `changedAt` of the change that listeners were told of last. */
  toldOf: number | null = null;
  usedAt = 0;
  readAt = 0;
  /** ExternalWorkloads that `set` was made with, by key. */
  refersTo: readonly string[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(cluster: string, key: string) {
    this.cluster = cluster;
    this.key = key;
  }

  get upToDate(): boolean {
    return this.done >= this.wanted;
  }

  /** Somebody wants to be told of every change: such an entry is read as soon as it changed. */
  get watched(): boolean {
    return this.#listeners.size > 0;
  }

  /** `listener` is called when the set, or whether it is current, changed; gives its end. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The entries of one cluster, and which of them are made with an ExternalWorkload. */
export class ClusterEntries {
  readonly byService = new Map<string, Entry>();
  readonly #byWorkload = new Map<string, Set<Entry>>();
  readonly #reading = new Set<Entry>();

  withWorkload(key: string): Iterable<Entry> {
    return this.#byWorkload.get(key) ?? [];
  }

  /** From now on an entry hears of all workloads: which of them it is made with is not known yet. */
  listen(entry: Entry): void {
    entry.heard = new Set();
    this.#reading.add(entry);
  }

  /** The reading has ended. */
  unlisten(entry: Entry): void {
    entry.heard = null;
    this.#reading.delete(entry);
  }

  hear(workloads: readonly string[]): void {
    for (const { heard } of this.#reading) for (const key of workloads) heard?.add(key);
  }

  /** Files an entry under the workloads that it is made with now. */
  file(entry: Entry, refersTo: readonly string[]): void {
    for (const key of entry.refersTo) {
      const entries = this.#byWorkload.get(key);
      entries?.delete(entry);
      if (entries?.size === 0) this.#byWorkload.delete(key);
    }
    entry.refersTo = refersTo;
    for (const key of refersTo) {
      const entries = this.#byWorkload.get(key);
      if (entries === undefined) this.#byWorkload.set(key, new Set([entry]));
      else entries.add(entry);
    }
  }

  drop(entry: Entry): void {
    this.file(entry, []);
    this.byService.delete(entry.key);
  }
}
