import { describeError } from '../core/errors.ts';
import type {
  ClusterViewReader,
  ServiceReading,
} from '../platform/redis/clusters/cluster-view-reader.ts';
import type { ViewChange } from '../platform/redis/clusters/change-feed.ts';
import { endpointSetOf } from './endpoint-set.ts';
import { ClusterEntries, Entry } from './entry.ts';

export interface CacheDeps {
  readonly reader: Pick<ClusterViewReader, 'readService'>;
  /** False while changes may go by unheard: then every look-up reads. */
  readonly listening: () => boolean;
  readonly monotonicMs: () => number;
}

/** Services that are read at a time. */
const READS_AT_ONCE = 64;
/** What is in use is read again so often even if nothing is told to have changed, ms. */
const RECHECK_MS = 30_000;
/** How long what nobody asked for is kept, for the time when Redis is away, ms. */
const KEEP_MS = 600_000;
/** Services that are kept at most while nobody watches them. */
const KEEP_SERVICES = 20_000;
/** Endpoints of these, some 500 bytes each. */
const KEEP_ENDPOINTS = 200_000;

/** What was read of the views, kept until it changes. */
export class Cache {
  readonly #deps: CacheDeps;
  readonly #clusters = new Map<string, ClusterEntries>();
  readonly #waiting: (() => void)[] = [];
  #active = 0;

  constructor(deps: CacheDeps) {
    this.#deps = deps;
  }

  /** What is known of a Service so far; perhaps nothing. */
  entry(cluster: string, key: string): Entry {
    let entries = this.#clusters.get(cluster);
    if (entries === undefined) this.#clusters.set(cluster, (entries = new ClusterEntries()));
    let entry = entries.byService.get(key);
    if (entry === undefined) entries.byService.set(key, (entry = new Entry(cluster, key)));
    entry.usedAt = this.#deps.monotonicMs();
    return entry;
  }

  /** Whether an answer may be given from this entry at once. */
  isFresh(entry: Entry): boolean {
    return entry.upToDate && this.#isCertain(entry);
  }

  /** Resolves once it was read as of now or later; also when that failed, see `failure`. */
  async refresh(entry: Entry): Promise<void> {
    const outdated = entry.upToDate && !this.#isCertain(entry);
    // What was heard of since a reading began may concern this entry, and not be in it.
    if (outdated || (entry.heard?.size ?? 0) > 0) entry.wanted += 1;
    const goal = entry.wanted;
    while (entry.done < goal) {
      await this.#read(entry);
      if (entry.failure !== '') return;
    }
  }

  changed(change: ViewChange): void {
    const entries = this.#clusters.get(change.cluster);
    if (entries === undefined) return;
    if (change.what !== 'some') {
      for (const entry of entries.byService.values()) this.#touch(entry);
      return;
    }
    for (const key of change.services) {
      const entry = entries.byService.get(key);
      if (entry !== undefined) this.#touchIn(entry, change.generation);
    }
    entries.hear(change.workloads);
    for (const key of change.workloads) {
      for (const entry of entries.withWorkload(key)) this.#touchIn(entry, change.generation);
    }
  }

  /** Changes may have gone by unheard. */
  missed(): void {
    for (const entry of this.#all()) this.#touch(entry);
  }

  /** To be called each second: reads again what failed, and lets go of what nobody needs. */
  tick(): void {
    const now = this.#deps.monotonicMs();
    const idle: Entry[] = [];
    for (const entry of this.#all()) {
      if (!entry.watched) idle.push(entry);
      else if (!entry.upToDate || now - entry.readAt > RECHECK_MS) this.#touch(entry);
    }
    this.#letGo(idle, now);
  }

  /** Nothing is known of this cluster any more. */
  forget(cluster: string): void {
    for (const entry of this.#clusters.get(cluster)?.byService.values() ?? []) {
      entry.set = null;
      entry.known = false;
      entry.current = false;
      entry.generation = 0;
      entry.forgotten += 1;
      this.#touch(entry);
    }
  }

  /** What is known now. */
  size(): { readonly services: number; readonly endpoints: number } {
    const sets = Array.from(this.#all(), ({ set }) => set).filter((set) => set !== null);
    return { services: sets.length, endpoints: sets.reduce((sum, set) => sum + set.items.size, 0) };
  }

  *#all(): Iterable<Entry> {
    for (const { byService } of this.#clusters.values()) yield* byService.values();
  }

  /** Whether a change of it would have been heard of; a rare one that was not is made good for. */
  #isCertain({ readAt }: Entry): boolean {
    return this.#deps.listening() && this.#deps.monotonicMs() - readAt <= RECHECK_MS;
  }

  /** A change of a generation that is not the one served is followed by the news that it is. */
  #touchIn(entry: Entry, generation: number): void {
    const settled = entry.reading === null && entry.current;
    if (!settled || entry.generation === generation) this.#touch(entry);
  }

  #touch(entry: Entry): void {
    entry.wanted += 1;
    entry.changedAt ??= this.#deps.monotonicMs();
    if (entry.watched) void this.#read(entry);
  }

  /** One reading, shared by all who wait for one. Never rejects. */
  #read(entry: Entry): Promise<void> {
    entry.reading ??= this.#readOnce(entry).finally(() => {
      entry.reading = null;
      if (entry.watched && !entry.upToDate && entry.failure === '') void this.#read(entry);
    });
    return entry.reading;
  }

  async #readOnce(entry: Entry): Promise<void> {
    await this.#turn(!entry.watched);
    // What changes from here on may not be in what is read.
    const goal = entry.wanted;
    const changedAt = entry.changedAt;
    entry.changedAt = null;
    const { forgotten } = entry;
    this.#clusters.get(entry.cluster)?.listen(entry);
    try {
      const reading = await this.#deps.reader.readService(entry.cluster, entry.key);
      const recovered = entry.failure !== '';
      entry.failure = '';
      // Of a cluster that is linked no more; what has its name now is read next.
      if (entry.forgotten !== forgotten) return;
      entry.done = goal;
      entry.readAt = this.#deps.monotonicMs();
      if (this.#take(entry, reading) || recovered) {
        entry.toldOf = changedAt;
        entry.tell();
      }
    } catch (error) {
      entry.changedAt = changedAt;
      const before = entry.failure;
      entry.failure = describeError(error);
      if (before === '') entry.tell();
    } finally {
      this.#clusters.get(entry.cluster)?.unlisten(entry);
      this.#active -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Whoever asks once waits for the answer: such readings go before those for subscribers. */
  async #turn(first: boolean): Promise<void> {
    if (this.#active >= READS_AT_ONCE) {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (first) this.#waiting.unshift(resolve);
      else this.#waiting.push(resolve);
      await promise;
    }
    this.#active += 1;
  }

  /** Whether what is known became another. */
  #take(entry: Entry, reading: ServiceReading): boolean {
    const { generation, service, slices, workloads, refersTo } = reading;
    const wasCurrent = entry.current;
    const before = entry.set;
    entry.current = generation > 0;
    if (entry.current) {
      const { cluster } = entry;
      const set = service === null ? null : endpointSetOf({ cluster, service, slices, workloads });
      // The same set keeps what was rendered of it.
      if (set === null || set.version !== before?.version) entry.set = set;
      entry.generation = generation;
      this.#clusters.get(cluster)?.file(entry, service === null ? [] : refersTo);
      if (entry.refersTo.some((key) => entry.heard?.has(key))) this.#touch(entry);
    }
    const same = entry.set === before && entry.current === wasCurrent && entry.known;
    entry.known ||= entry.current;
    return !same;
  }

  #letGo(idle: Entry[], now: number): void {
    const useless = ({ set, usedAt }: Entry): boolean => set === null || now - usedAt > KEEP_MS;
    const kept = idle.filter((entry) => !(useless(entry) && this.#drop(entry)));
    let endpoints = kept.reduce((sum, { set }) => sum + (set?.items.size ?? 0), 0);
    let services = kept.length;
    if (services <= KEEP_SERVICES && endpoints <= KEEP_ENDPOINTS) return;
    for (const entry of kept.sort((a, b) => a.usedAt - b.usedAt)) {
      if (services <= KEEP_SERVICES && endpoints <= KEEP_ENDPOINTS) break;
      services -= 1;
      endpoints -= entry.set?.items.size ?? 0;
      this.#drop(entry);
    }
  }

  /** False while it is being read: somebody waits for it. */
  #drop(entry: Entry): boolean {
    if (entry.reading !== null) return false;
    const entries = this.#clusters.get(entry.cluster);
    entries?.drop(entry);
    if (entries?.byService.size === 0) this.#clusters.delete(entry.cluster);
    return true;
  }
}
