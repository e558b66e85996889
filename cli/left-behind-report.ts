import { LEFT_BEHIND_HINT, type LeftBehind } from '../watcher/left-behind.ts';
import { textTable } from './text-table.ts';

/** A paragraph of `tether status`; nothing where all is served, or nobody can say. */
export function leftBehindText(leftBehind: readonly LeftBehind[] | null): string[] {
  if (leftBehind === null || leftBehind.length === 0) return [];
  const rows = leftBehind.map(({ namespace, slices }) => [namespace, String(slices)]);
  return [`${textTable(['NOT SERVED', 'SLICES OF OURS'], rows)}\n${LEFT_BEHIND_HINT}`];
}
