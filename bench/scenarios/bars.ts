import { format, spreadOf } from '../report/markdown.ts';
import type { Bar, Column } from '../report/section.ts';

/** Which figure of the first column is to be no worse than that of the second. */
export interface Comparison {
  readonly what: string;
  readonly columns: readonly Column[];
  readonly id: string;
  readonly digits: number;
  readonly better: 'higher' | 'lower';
  /** What is asked for, as a multiple of the other's figure; default 1. */
  readonly times?: number;
}

/** A bar that the other contender sets, by medians; none where a figure is missing. */
export function noWorse({ what, columns, id, digits, better, times = 1 }: Comparison): Bar[] {
  const ours = spreadOf(columns[0], id)?.median;
  const theirs = spreadOf(columns[1], id)?.median;
  if (ours === undefined || theirs === undefined) return [];
  const limit = theirs * times;
  const factor = times === 1 ? '' : `${times} × `;
  return [
    {
      what,
      bound: `${better === 'higher' ? 'at least' : 'at most'} ${format(limit, digits)} (${factor}${columns[1]?.title})`,
      measured: format(ours, digits),
      met: better === 'higher' ? ours >= limit : ours <= limit,
    },
  ];
}

/** A bar of ours for the median. */
export function medianAtMost(
  what: string,
  column: Column | undefined,
  row: { readonly id: string; readonly digits: number },
  most: number,
): Bar[] {
  const median = spreadOf(column, row.id)?.median;
  if (median === undefined) return [];
  const bound = `at most ${format(most, row.digits)}`;
  return [{ what, bound, measured: format(median, row.digits), met: median <= most }];
}

/** A bar of ours: the worst run may not be above it. */
export function atMost(
  what: string,
  column: Column | undefined,
  row: { readonly id: string; readonly digits: number },
  most: number,
): Bar[] {
  const worst = spreadOf(column, row.id)?.max;
  if (worst === undefined) return [];
  return [
    {
      what,
      bound: `at most ${format(most, row.digits)}`,
      measured: format(worst, row.digits),
      met: worst <= most,
    },
  ];
}

/** A bar of ours: the worst run may not be below it. */
export function atLeast(
  what: string,
  column: Column | undefined,
  row: { readonly id: string; readonly digits: number },
  least: number,
): Bar[] {
  const worst = spreadOf(column, row.id)?.min;
  if (worst === undefined) return [];
  const bound = `at least ${format(least, row.digits)}`;
  return [{ what, bound, measured: format(worst, row.digits), met: worst >= least }];
}
