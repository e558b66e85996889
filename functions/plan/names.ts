import { shortHash } from '../../core/hash.ts';
import type { ServiceRecord } from '../../core/records.ts';
import type { DesiredEndpoint } from './endpoint-set.ts';

/** Names that a new slice of one Service may get. */
export type SliceNamer = (first: DesiredEndpoint) => string;

const HASH_LENGTH = 10;
const LONGEST_NAME = 253;

/**
 * Names new slices `<service>-ew-<hash>`, the hash being of the Service's UID, the family, the ports
 * and an ordinal: the lowest whose name is free. A create that was already made (by a worker that
 * lost its lock, or from a view that trails) then answers "already exists" instead of making a
 * double, which generated names cannot do.
 *
 * The namer remembers what it gave out; `taken` is not changed. `first` is any endpoint of the slice.
 */
export function sliceNamer(service: ServiceRecord, taken: Iterable<string>): SliceNamer {
  const used = new Set(taken);
  const prefix = namePrefix(service.name);
  const ordinals = new Map<string, number>();
  return ({ family, portMap }) => {
    const group = `${service.uid}\n${family}\n${portMap.key}`;
    for (let ordinal = ordinals.get(group) ?? 0; ; ordinal += 1) {
      const name = prefix + shortHash(`${group}\n${ordinal}`, HASH_LENGTH);
      if (used.has(name)) continue;
      used.add(name);
      ordinals.set(group, ordinal + 1);
      return name;
    }
  };
}

/** Cut where the whole would be too long, and never right behind a dot or a dash. */
function namePrefix(service: string): string {
  const infix = '-ew-';
  const room = LONGEST_NAME - infix.length - HASH_LENGTH;
  return service.slice(0, room).replace(/[-.]+$/, '') + infix;
}
