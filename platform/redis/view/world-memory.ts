import type { ServiceRecord, SliceRecord, WorkloadRecord } from '../../../core/records.ts';

/** A Service's world as it was read, and the entry of the namespace's log that it is up to. */
export interface RememberedWorld {
  readonly entry: string;
  readonly service: ServiceRecord;
  readonly workloads: ReadonlyMap<string, WorkloadRecord>;
  readonly slices: ReadonlyMap<string, SliceRecord>;
}

/** What changed in one kind since a world was read. */
export interface KindChanges<T> {
  readonly there: readonly T[];
  /** Names of objects that are gone, or belong to another Service now. */
  readonly gone: readonly string[];
}

/**
 * The worlds of large Services from earlier runs of this process, so that a run reads what changed
 * instead of thousands of records. What is here is never trusted by itself: the script that reads the
 * view says whether it can be brought up to date, or gives everything anew.
 */
export interface WorldMemory {
  get(key: string): RememberedWorld | undefined;
  /** Remembers a world; those that were used longest ago make room. */
  put(key: string, world: RememberedWorld): void;
  forget(key: string): void;
}

/** `limit`: most workloads of all worlds together, some 500 bytes each. */
export function createWorldMemory(limit: number): WorldMemory {
  // In the order of their last use.
  const worlds = new Map<string, RememberedWorld>();
  let held = 0;
  const forget = (key: string): void => {
    held -= worlds.get(key)?.workloads.size ?? 0;
    worlds.delete(key);
  };
  return {
    get: (key) => worlds.get(key),
    put: (key, world) => {
      forget(key);
      worlds.set(key, world);
      held += world.workloads.size;
      for (const oldest of worlds.keys()) {
        if (held <= limit) break;
        forget(oldest);
      }
    },
    forget,
  };
}

/** A world with what changed since: a new one, since a run may still plan with the old. */
export function bringUpToDate(
  world: RememberedWorld,
  entry: string,
  slices: KindChanges<SliceRecord>,
  workloads: KindChanges<WorkloadRecord>,
): RememberedWorld {
  return {
    entry,
    service: world.service,
    slices: withChanges(world.slices, slices),
    workloads: withChanges(world.workloads, workloads),
  };
}

function withChanges<T extends { readonly name: string }>(
  before: ReadonlyMap<string, T>,
  { there, gone }: KindChanges<T>,
): ReadonlyMap<string, T> {
  if (there.length === 0 && gone.length === 0) return before;
  const after = new Map(before);
  for (const name of gone) after.delete(name);
  for (const object of there) after.set(object.name, object);
  return after;
}

export function byName<T extends { readonly name: string }>(
  objects: readonly T[],
): ReadonlyMap<string, T> {
  return new Map(objects.map((object) => [object.name, object]));
}
