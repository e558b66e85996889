/** Counters by their labels, as `label=value` pairs in the order asked for. */
export type Counters = ReadonlyMap<string, number>;

/**
 * Sums a counter of Prometheus' text format over all labels but those named: `['verb', 'resource']`
 * gives keys such as `POST endpointslices`. Samples for which `accepts` says no are left out.
 */
export function sumBy(
  text: string,
  metric: string,
  labels: readonly string[],
  accepts: (label: (name: string) => string) => boolean = () => true,
): Counters {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const sample = line.startsWith(metric) ? readSample(line.slice(metric.length)) : undefined;
    if (sample === undefined) continue;
    const label = (name: string): string => sample.labels.get(name) ?? '';
    if (!accepts(label)) continue;
    const key = labels.map(label).join(' ');
    sums.set(key, (sums.get(key) ?? 0) + sample.value);
  }
  return sums;
}

/** What was counted between two readings, without what did not move. */
export function difference(before: Counters, after: Counters): Counters {
  const moved = [...after].map(([key, now]) => [key, now - (before.get(key) ?? 0)] as const);
  return new Map(moved.filter(([, by]) => by !== 0));
}

/** The sum of all counters whose key matches. */
export function total(counters: Counters, key = /^/): number {
  let sum = 0;
  for (const [name, value] of counters) if (key.test(name)) sum += value;
  return sum;
}

interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** What stands behind the name of a metric; undefined where the name goes on. */
function readSample(rest: string): Sample | undefined {
  const [, labels = '', value] = /^(?:\{(.*)\})? (\S+)/.exec(rest) ?? [];
  if (value === undefined) return undefined;
  const pairs = labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
  return {
    labels: new Map([...pairs].map(([, name = '', text = '']) => [name, text])),
    value: Number(value),
  };
}
