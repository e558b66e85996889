import type { EndpointSet, Item } from './endpoint-set.ts';

/** What makes a later set of an earlier one. */
export interface Difference {
  /** Endpoints that are new, or differ: they take the place of those with their id. */
  readonly add: readonly Item[];
  /** Ids of endpoints that are gone. */
  readonly remove: readonly string[];
}

/** Null when the endpoints of both are the same. */
export function difference(before: EndpointSet, after: EndpointSet): Difference | null {
  const add: Item[] = [];
  for (const [id, item] of after.items) {
    if (before.items.get(id)?.text !== item.text) add.push(item);
  }
  const remove = [...before.items.keys()].filter((id) => !after.items.has(id));
  return add.length === 0 && remove.length === 0 ? null : { add, remove };
}
