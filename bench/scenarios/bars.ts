import { format, spreadOf } from '../report/markdown.ts';
import type { Bar, Column } from '../report/section.ts';

/** Which figure of the first column is to be no worse than that of the second. */
export interface Comparison {
  readonly what: string;
  readonly columns: readonly Column[];
  readonly id: string;
  readonly digits: number;
  readonly better: 'higher' | 'lower';
}

/** A bar that the other contender sets, by medians; none where a figure is missing. */
export function noWorse({ what, columns, id, digits, better }: Comparison): Bar[] {
  const ours = spreadOf(columns[0], id)?.median;
  const theirs = spreadOf(columns[1], id)?.median;
  if (ours === undefined || theirs === undefined) return [];
  return [
    {
      what,
      bound: `${better === 'higher' ? 'at least' : 'at most'} ${format(theirs, digits)} (${columns[1]?.title})`,
      measured: format(ours, digits),
      met: better === 'higher' ? ours >= theirs : ours <= theirs,
    },
  ];
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
