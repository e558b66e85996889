import type { LeftOutReason, ReconcileResult } from '../../../core/outcome.ts';
import { createGauge, type Family } from './families.ts';

/** What this process last saw of each Service. */
export interface ServiceState {
  /** Replaces what was known of the key; a Service without slices and left-out workloads is dropped. */
  record(key: string, result: ReconcileResult): void;
}

interface Last {
  readonly endpoints: number;
  readonly ready: number;
  readonly slices: number;
  readonly leftOut: ReadonlyMap<LeftOutReason, number> | null;
}

/** Not a fault of the workload: it merely belongs to other Services. */
const NOT_COUNTED: LeftOutReason = 'selector-mismatch';

/**
 * Gauges made from the last result of each Service, summed when scraped: unlike numbers that are
 * counted up and down, they cannot drift. Bounded by `limit` Services; the one that was run longest
 * ago is forgotten first.
 */
export function createServiceState(limit: number): {
  readonly state: ServiceState;
  readonly families: readonly Family[];
} {
  const last = new Map<string, Last>();
  const record = (key: string, result: ReconcileResult): void => {
    last.delete(key);
    const leftOut = countReasons(result);
    if (result.slices === 0 && leftOut === null) return;
    const { endpoints, ready, slices } = result;
    last.set(key, { endpoints, ready, slices, leftOut });
    if (last.size <= limit) return;
    const [oldest] = last.keys();
    if (oldest !== undefined) last.delete(oldest);
  };
  return { state: { record }, families: gauges(last) };
}

function gauges(last: ReadonlyMap<string, Last>): Family[] {
  const sum = (read: (one: Last) => number): number => {
    let total = 0;
    for (const one of last.values()) total += read(one);
    return total;
  };
  const ran = 'by the last run of each Service in this process';
  return [
    createGauge('tether_services', 'Services that the gauges below sum up.', [], () => [
      [last.size],
    ]),
    createGauge('tether_endpoints', `Endpoints ${ran}.`, ['state'], () => [
      [sum((one) => one.ready), 'ready'],
      [sum((one) => one.endpoints - one.ready), 'not_ready'],
    ]),
    createGauge('tether_slices', `EndpointSlices of ours ${ran}.`, [], () => [
      [sum((one) => one.slices)],
    ]),
    createGauge(
      'tether_left_out_workloads',
      `Workloads that are in no slice, or in part only, ${ran}, by reason.`,
      ['reason'],
      () => [...totals(last.values())].map(([reason, count]) => [count, reason]),
    ),
  ];
}

/** Workloads a reason; one that is left out of two families for one reason counts once. */
function countReasons(result: ReconcileResult): ReadonlyMap<LeftOutReason, number> | null {
  const seen = new Set<string>();
  const counts = new Map<LeftOutReason, number>();
  for (const { workload, reason } of result.leftOut) {
    const id = `${reason} ${workload}`;
    if (reason === NOT_COUNTED || seen.has(id)) continue;
    seen.add(id);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts.size > 0 ? counts : null;
}

function totals(all: Iterable<Last>): Map<LeftOutReason, number> {
  const sums = new Map<LeftOutReason, number>();
  for (const { leftOut } of all) {
    for (const [reason, count] of leftOut ?? []) sums.set(reason, (sums.get(reason) ?? 0) + count);
  }
  return sums;
}
