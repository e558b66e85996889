/**
 * The value below which the share `p` of the values lies, each of them one that was measured: of n
 * sorted values the one at floor(p × (n − 1)). NaN of nothing.
 */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(p * (sorted.length - 1))] ?? NaN;
}

/** The middle value; between the two middle ones of an even number. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? NaN : (low + high) / 2;
}

/** Median and extremes of one figure over the runs that have it. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Undefined when no run has the figure. */
export function spread(values: readonly (number | undefined)[]): Spread | undefined {
  const known = values.filter((value) => value !== undefined && !Number.isNaN(value)) as number[];
  if (known.length === 0) return undefined;
  return { median: median(known), min: Math.min(...known), max: Math.max(...known) };
}
