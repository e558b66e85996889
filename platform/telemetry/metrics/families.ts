/*
 * Counters, gauges and histograms as plain numbers, written out as text only when somebody scrapes.
 * Measured against prom-client: an observation takes 0.2 to 0.3 µs instead of 0.4 to 0.6, and its
 * import would be 30 to 50 ms of a start. A test holds the text to be the same.
 */

/** One metric with all its series. */
export interface Family {
  readonly name: string;
  readonly help: string;
  /** In Prometheus' text format 0.0.4, with its HELP and TYPE lines. */
  render(): string;
}

type LabelValues = readonly string[];

/** A number that only grows. */
export interface Counter extends Family {
  add(amount: number, ...labels: LabelValues): void;
}

/** Where observations fell. Values in seconds. */
export interface Histogram extends Family {
  observe(seconds: number, ...labels: LabelValues): void;
}

/** A value of now: read when it is scraped, not kept. Each sample: its value, then its labels. */
export type Sample = readonly [value: number, ...labels: LabelValues];

/**
 * @param always label values whose series exists from the start, at 0: a rate over a series that
 * appears with its first event misses that event.
 */
export function createCounter(
  name: string,
  help: string,
  labels: LabelValues = [],
  always: readonly LabelValues[] = labels.length === 0 ? [[]] : [],
): Counter {
  const series = createSeries(always, (values) => ({ value: 0, text: labelText(labels, values) }));
  return {
    name,
    help,
    add: (amount, ...values) => void (series.at(values).value += amount),
    render: () => {
      const lines = series.all().map((one) => `${name}${one.text} ${one.value}`);
      return block(name, help, 'counter', lines);
    },
  };
}

/** A gauge whose samples are made at each scrape. */
export function createGauge(
  name: string,
  help: string,
  labels: LabelValues,
  read: () => readonly Sample[],
): Family {
  return { name, help, render: () => block(name, help, 'gauge', sampled(name, labels, read())) };
}

/** A counter that somebody else keeps: read when it is scraped, gone with what it counts. */
export function createReadCounter(
  name: string,
  help: string,
  labels: LabelValues,
  read: () => readonly Sample[],
): Family {
  return { name, help, render: () => block(name, help, 'counter', sampled(name, labels, read())) };
}

function sampled(name: string, labels: LabelValues, samples: readonly Sample[]): string[] {
  return samples.map(
    ([value, ...values]) => `${name}${labelText(labels, values)} ${numberText(value)}`,
  );
}

/** @param bounds upper bounds of the buckets, in seconds, ascending; +Inf comes by itself. */
export function createHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
  labels: LabelValues = [],
  always: readonly LabelValues[] = labels.length === 0 ? [[]] : [],
): Histogram {
  const series = createSeries(always, (values) => ({
    values,
    counts: new Float64Array(bounds.length + 1),
    sum: 0,
  }));
  return {
    name,
    help,
    observe: (seconds, ...values) => {
      const one = series.at(values);
      const found = bounds.findIndex((bound) => seconds <= bound);
      const index = found < 0 ? bounds.length : found;
      one.counts[index] = (one.counts[index] ?? 0) + 1;
      one.sum += seconds;
    },
    render: () => {
      const lines = series.all().flatMap((one) => histogramLines(name, bounds, labels, one));
      return block(name, help, 'histogram', lines);
    },
  };
}

function histogramLines(
  name: string,
  bounds: readonly number[],
  labels: LabelValues,
  { values, counts, sum }: { values: LabelValues; counts: Float64Array; sum: number },
): string[] {
  let total = 0;
  const buckets = Array.from(counts, (count, index) => {
    total += count;
    const le = String(bounds[index] ?? '+Inf');
    return `${name}_bucket${labelText([...labels, 'le'], [...values, le])} ${total}`;
  });
  const text = labelText(labels, values);
  return [...buckets, `${name}_sum${text} ${numberText(sum)}`, `${name}_count${text} ${total}`];
}

/** One entry for each combination of label values that came up. */
function createSeries<T>(
  always: readonly LabelValues[],
  make: (values: LabelValues) => T,
): { at(values: LabelValues): T; all(): T[] } {
  const series = new Map<string, T>();
  const at = (values: LabelValues): T => {
    const key = values.length === 1 ? (values[0] ?? '') : values.join('\n');
    const known = series.get(key);
    if (known !== undefined) return known;
    const made = make(values);
    series.set(key, made);
    return made;
  };
  always.forEach(at);
  return { at, all: () => [...series.values()] };
}

function block(name: string, help: string, type: string, lines: readonly string[]): string {
  return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
}

function labelText(names: LabelValues, values: LabelValues): string {
  if (names.length === 0) return '';
  const pairs = names.map((name, index) => `${name}="${escapeLabel(values[index] ?? '')}"`);
  return `{${pairs.join(',')}}`;
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
