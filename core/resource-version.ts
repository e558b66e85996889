/**
 * The newer of two resourceVersions, compared as unsigned integers of any length, without ever making
 * numbers of them (they may grow past 2^53). '' is older than any. Only meaningful within one API
 * server's history.
 */
export function newerVersion(a: string, b: string): string {
  if (a.length !== b.length) return a.length > b.length ? a : b;
  return a > b ? a : b;
}

/** The older of two resourceVersions; '' is none, and gives the other one. */
export function olderVersion(a: string, b: string): string {
  if (a === '' || b === '') return a + b;
  return newerVersion(a, b) === a ? b : a;
}
