import type { Bar, Column, Figures, Row } from '../report/section.ts';
import type { Sitting } from '../sitting.ts';
import type { Stage } from '../stage.ts';
import type { LinkedRun } from './linked-run.ts';
import type { LinkedSizes } from './sizes.ts';

/** One scenario about linked clusters; several take turns on the same processes. */
export interface LinkedPart {
  title(sizes: LinkedSizes): string;
  intro(sizes: LinkedSizes): string;
  readonly rows: readonly Row[];
  /** Heads of the columns; `measure` gives figures for each. */
  readonly columns: readonly string[];
  measure(run: LinkedRun): Promise<readonly Figures[]>;
  /** Figures of one more column, without any linked cluster, on a stage of its own. */
  alone?(sitting: Sitting, stage: Stage): Promise<Figures>;
  bars(columns: readonly Column[]): readonly Bar[];
}
