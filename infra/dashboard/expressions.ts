/*
 * What the panels ask in several places. `$namespace` is empty where nothing sets such a label on
 * targets, which `.*` matches as well.
 */

const NAMESPACE = 'namespace=~"$namespace"';

/** The series of a metric of the chosen namespaces; `labels` as in PromQL, without braces. */
export function series(metric: string, labels = ''): string {
  return `${metric}{${[NAMESPACE, labels].filter((text) => text !== '').join(',')}}`;
}

/** How fast a counter grows, a second. */
export function rate(metric: string, labels = ''): string {
  return `rate(${series(metric, labels)}[$__rate_interval])`;
}

/** The growth of a counter summed up, a series for each value of these labels. */
export function sumRate(by: string, metric: string, labels = ''): string {
  return `sum by (${by}) (${rate(metric, labels)})`;
}

/**
 * Of series that other programs have under the same name only those of Tether's processes: Node's own,
 * and those of the work queue, which every controller of Kubernetes calls alike.
 */
export function ours(expr: string): string {
  return `${expr} and on (namespace, job, instance) tether_redis_up`;
}

/** A quantile of a histogram of Tether's own. */
export function quantile(q: number, metric: string): string {
  return `histogram_quantile(${q}, sum by (le) (${rate(`${metric}_bucket`)}))`;
}

/** A quantile of a histogram that others have as well. */
export function ourQuantile(q: number, metric: string, labels = ''): string {
  return `histogram_quantile(${q}, sum by (le, name) (${ours(rate(`${metric}_bucket`, labels))}))`;
}
