/** One query of a panel, in PromQL with Grafana's variables, and what its series are called. */
export interface Query {
  readonly expr: string;
  /** Grafana's template, such as `{{outcome}}`. */
  readonly legend: string;
}

/** From this value on, a stat has this colour. */
export interface Threshold {
  readonly from: number;
  readonly colour: 'green' | 'orange' | 'red';
}

/** One panel: what it shows. Where it stands follows from its row. */
export interface Panel {
  readonly title: string;
  /** How to read it: a sentence or two, shown at the title. */
  readonly description: string;
  /**
   * - `graph`: over time.
   * - `stat`: its present value.
   * - `table`: its present series, a line each.
   */
  readonly kind: 'graph' | 'stat' | 'table';
  /** As Grafana calls it: `s`, `short`, `ops`, `bytes`, `percentunit`, `d`. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** Series are piled up: their sum means something. */
  readonly stacked?: true;
  /** Of a stat; without: always green. */
  readonly thresholds?: readonly Threshold[];
  /** Of a stat: words instead of values. */
  readonly words?: Readonly<Record<string, string>>;
  /** Of a table: labels to show, in this order. */
  readonly columns?: readonly string[];
}

/** Panels under one heading, all of one size. */
export interface Row {
  readonly title: string;
  /** In 24ths of the whole width. */
  readonly width: number;
  readonly height: number;
  readonly panels: readonly Panel[];
}

type Extras = Partial<Pick<Panel, 'stacked' | 'thresholds' | 'words' | 'columns'>>;
type Words = readonly [title: string, description: string];

function panel(
  kind: Panel['kind'],
  [title, description]: Words,
  unit: string,
  queries: Readonly<Record<string, string>>,
  extras: Extras = {},
): Panel {
  const all = Object.entries(queries).map(([legend, expr]) => ({ legend, expr }));
  return { kind, title, description, unit, queries: all, ...extras };
}

/** @param queries by legend. */
export const graph = (
  words: Words,
  unit: string,
  queries: Readonly<Record<string, string>>,
  extras?: Extras,
): Panel => panel('graph', words, unit, queries, extras);

export const stat = (words: Words, unit: string, expr: string, extras?: Extras): Panel =>
  panel('stat', words, unit, { '': expr }, extras);

export const table = (words: Words, expr: string, columns: readonly string[]): Panel =>
  panel('table', words, 'short', { '': expr }, { columns });
