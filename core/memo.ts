/**
 * Remembers the results of a pure function of a string, bounded: once `limit` new results have come,
 * those that were not asked for since the last turn are forgotten. Cheaper than an LRU list: a hit in
 * the young half is one Map look-up.
 */
export function memoize<T>(compute: (text: string) => T, limit: number): (text: string) => T {
  let young = new Map<string, T>();
  let old = new Map<string, T>();
  return (text) => {
    const known = young.get(text);
    if (known !== undefined) return known;
    const value = old.get(text) ?? compute(text);
    if (young.size >= limit) {
      old = young;
      young = new Map();
    }
    young.set(text, value);
    return value;
  };
}
