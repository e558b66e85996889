import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import { addressOf, offered, serviceKey, type World } from '../world.ts';

/** An address that a slice began to offer, or offers with another readiness than before. */
export interface Sighting {
  readonly address: string;
  readonly ready: boolean;
}

/** One Service as it should be, and as the slices make it. */
interface Entry {
  readonly expected: Map<string, boolean>;
  readonly slices: Map<string, ReadonlyMap<string, boolean>>;
  /** In how many slices an address is. */
  readonly times: Map<string, number>;
  /** Addresses that are in one slice, with the readiness that is expected. */
  good: number;
  /** Addresses in slices, each time counted. */
  offered: number;
}

/**
 * Compares the slices of a world, event by event, with what they should be. An event costs as much
 * as its own slice is long, however large the Service is.
 */
export class SliceLedger {
  readonly #entries = new Map<string, Entry>();
  readonly #prefix: string;
  #right = 0;
  #doubled = 0;

  constructor(world: World) {
    this.#prefix = `${world.prefix}-`;
    for (let service = 0; service < world.services; service += 1) {
      const expected = new Map<string, boolean>();
      for (let nth = 0; nth < world.per; nth += 1) {
        expected.set(addressOf(world, service, nth), true);
      }
      this.#entries.set(serviceKey(world, service), {
        expected,
        slices: new Map(),
        times: new Map(),
        good: 0,
        offered: 0,
      });
    }
  }

  /** Services whose slices offer every address once, as ready as it should be, and nothing else. */
  get right(): number {
    return this.#right;
  }

  /** How often an event showed an address of a Service in more than one slice. */
  get doubled(): number {
    return this.#doubled;
  }

  get services(): number {
    return this.#entries.size;
  }

  /** Keys of the Services that are not right. */
  wrong(): string[] {
    return [...this.#entries].filter(([, entry]) => !isRight(entry)).map(([key]) => key);
  }

  /** Whether the namespace is one of this world. */
  covers(slice: ApiEndpointSlice): boolean {
    return (slice.metadata?.namespace ?? '').startsWith(this.#prefix);
  }

  /** From now on this address should be so. */
  expect(key: string, address: string, ready: boolean): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#change(entry, () => {
      const before = goodness(entry, address);
      entry.expected.set(address, ready);
      entry.good += goodness(entry, address) - before;
    });
  }

  /** Takes one event of a watch; gives what it newly shows, and the key of the Service. */
  apply(
    type: 'ADDED' | 'MODIFIED' | 'DELETED',
    slice: ApiEndpointSlice,
  ): { readonly key: string; readonly sightings: readonly Sighting[] } {
    const { namespace = '', name = '', labels = {} } = slice.metadata ?? {};
    const key = `${namespace}/${labels[LABEL_SERVICE_NAME] ?? ''}`;
    const entry = this.#entries.get(key);
    if (entry === undefined) return { key, sightings: [] };
    const before = entry.slices.get(name) ?? new Map<string, boolean>();
    const after = type === 'DELETED' ? new Map<string, boolean>() : offered(slice);
    this.#change(entry, () => replaceSlice(entry, name, before, after));
    this.#doubled += doubledOf(entry, after);
    const sightings: Sighting[] = [];
    for (const [address, ready] of after) {
      if (before.get(address) !== ready) sightings.push({ address, ready });
    }
    return { key, sightings };
  }

  #change(entry: Entry, work: () => void): void {
    const before = isRight(entry);
    work();
    this.#right += Number(isRight(entry)) - Number(before);
  }
}

function replaceSlice(
  entry: Entry,
  name: string,
  before: ReadonlyMap<string, boolean>,
  after: ReadonlyMap<string, boolean>,
): void {
  const touched = new Set([...before.keys(), ...after.keys()]);
  for (const address of touched) entry.good -= goodness(entry, address);
  if (after.size === 0) entry.slices.delete(name);
  else entry.slices.set(name, after);
  for (const address of before.keys()) count(entry, address, -1);
  for (const address of after.keys()) count(entry, address, 1);
  for (const address of touched) entry.good += goodness(entry, address);
}

/** Addresses of a slice that are in another one as well. */
function doubledOf(entry: Entry, slice: ReadonlyMap<string, boolean>): number {
  return [...slice.keys()].filter((address) => (entry.times.get(address) ?? 0) > 1).length;
}

function count(entry: Entry, address: string, by: number): void {
  const times = (entry.times.get(address) ?? 0) + by;
  if (times === 0) entry.times.delete(address);
  else entry.times.set(address, times);
  entry.offered += by;
}

/** 1 when the address is in exactly one slice, as ready as it should be. */
function goodness(entry: Entry, address: string): 0 | 1 {
  if (entry.times.get(address) !== 1) return 0;
  const wanted = entry.expected.get(address);
  if (wanted === undefined) return 0;
  for (const slice of entry.slices.values()) {
    const ready = slice.get(address);
    if (ready !== undefined) return ready === wanted ? 1 : 0;
  }
  return 0;
}

function isRight({ expected, good, offered: total }: Entry): boolean {
  return good === expected.size && total === good;
}
