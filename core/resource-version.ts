/**
 * Compares two resourceVersions as unsigned integers of any length, without ever parsing them into a
 * number (they may grow past 2^53). Negative when `a` is older, 0 when equal, positive when newer.
 * Only meaningful within one API server identity (spec: view, rule 3).
 */
export function compareResourceVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
