/** Figures of one run, by the id of their row. */
export type Figures = Readonly<Record<string, number | undefined>>;

/** A row of a table. */
export interface Row {
  readonly id: string;
  readonly label: string;
  /** Places after the point. */
  readonly digits: number;
}

/** What one contender came to, over all runs. */
export interface Column {
  readonly title: string;
  readonly runs: readonly Figures[];
}

/** Something that Tether is to reach. */
export interface Bar {
  readonly what: string;
  /** `at most 1,000 ms` */
  readonly bound: string;
  readonly measured: string;
  readonly met: boolean;
}

/** What a scenario found out. */
export interface Section {
  readonly title: string;
  /** What was done, in a few sentences. */
  readonly intro: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column[];
  /** Whether a last column divides the first column's median by the second's. */
  readonly ratio: boolean;
  /** Lines below the table. */
  readonly notes: readonly string[];
  readonly bars: readonly Bar[];
}
