import { parseKey, type ObjectKey } from '../core/object-key.ts';
import type { ServiceRecord } from '../core/records.ts';
import type { LocalReading, LocalServices } from '../platform/redis/view/local-services.ts';
import { localNameOf, type LocalName } from './local-name.ts';

/** What a process knows of one local Service. */
export interface LocalEntry {
  readonly key: ObjectKey;
  /** Whether it was ever read from a view in sync. */
  known: boolean;
  /** Whether the last reading was of a view in sync. */
  current: boolean;
  service: ServiceRecord | null;
  /** What it stands for; null: nothing but itself. */
  name: LocalName | null;
  readAt: number;
  usedAt: number;
  reading: Promise<void> | null;
  readonly listeners: Set<() => void>;
}

export interface LocalNamesDeps {
  readonly services: LocalServices;
  readonly monotonicMs: () => number;
}

/** A change of a local Service is seen within so long: its view tells nobody of changes, ms. */
const FRESH_MS = 1_000;
const KEEP_MS = 600_000;
const MOST_ENTRIES = 20_000;

/** Local Services that stand for Services of other clusters, read again each second while in use. */
export class LocalNames {
  readonly #deps: LocalNamesDeps;
  readonly #entries = new Map<string, LocalEntry>();

  constructor(deps: LocalNamesDeps) {
    this.#deps = deps;
  }

  /** `key`: `namespace/name`, checked. */
  entry(key: string): LocalEntry {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = {
        key: parseKey(key),
        known: false,
        current: false,
        service: null,
        name: null,
        readAt: -Infinity,
        usedAt: 0,
        reading: null,
        listeners: new Set(),
      };
      this.#entries.set(key, entry);
    }
    entry.usedAt = this.#deps.monotonicMs();
    return entry;
  }

  isFresh(entry: LocalEntry): boolean {
    return this.#deps.monotonicMs() - entry.readAt <= FRESH_MS;
  }

  /** Reads it, unless somebody does already; resolves also when that failed. */
  refresh(entry: LocalEntry): Promise<void> {
    entry.reading ??= this.#read([entry]).finally(() => (entry.reading = null));
    return entry.reading;
  }

  /** To be called each second. */
  async tick(): Promise<void> {
    const now = this.#deps.monotonicMs();
    const watched: LocalEntry[] = [];
    for (const [key, entry] of this.#entries) {
      const useless = now - entry.usedAt > KEEP_MS || entry.service === null;
      if (entry.listeners.size > 0) watched.push(entry);
      else if (entry.reading === null && (useless || this.#entries.size > MOST_ENTRIES)) {
        this.#entries.delete(key);
      }
    }
    if (watched.length > 0) await this.#read(watched);
  }

  async #read(entries: readonly LocalEntry[]): Promise<void> {
    let readings: readonly LocalReading[];
    try {
      readings = await this.#deps.services.read(entries.map(({ key }) => key));
    } catch {
      // Redis is away; the directory of clusters says so, and what was read before stays.
      return;
    }
    for (const [at, entry] of entries.entries()) {
      const reading = readings[at];
      if (reading !== undefined) this.#take(entry, reading);
    }
  }

  #take(entry: LocalEntry, { inSync, service }: LocalReading): void {
    entry.readAt = this.#deps.monotonicMs();
    const changed =
      entry.current !== inSync ||
      entry.service?.rv !== service?.rv ||
      entry.service?.uid !== service?.uid;
    // A view that is not in sync may lack what is there.
    if (inSync || service !== null) {
      entry.service = service;
      entry.name = service === null ? null : localNameOf(entry.key.namespace, service);
      entry.known = true;
    }
    entry.current = inSync;
    if (changed) for (const listener of entry.listeners) listener();
  }
}
