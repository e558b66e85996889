import { LABEL_HEADLESS } from '../../core/names.ts';
import type { EndpointRecord, SliceRecord } from '../../core/records.ts';
import { ownSlices, type Pass } from './pass.ts';
import type { Splits } from './swaps.ts';

/** What may differ in one pass, by the rules in the README's table. */
export interface Exemptions {
  /** Whether the sizes of slices are compared. */
  readonly sizes: boolean;
  /** Whether the endpoints are compared. */
  readonly endpoints: boolean;
  /** How many writes ours may take more than upstream. */
  readonly extraWrites: number;
  readonly rules: readonly string[];
}

export function exemptions(pass: Pass, splits: Splits): Exemptions {
  const own = ownSlices(pass.input, pass.input.slices);
  const maximum = pass.input.options.maxEndpointsPerSlice;
  const counts = {
    'above-maximum': own.filter((slice) => slice.endpoints.length > maximum).length,
    deleting: pass.input.service?.deleting === true ? 1 : 0,
    'empty-slice': own.filter((slice) => slice.endpoints.length === 0).length,
    'headless-label': own.filter((slice) => hasWrongHeadlessLabel(pass, slice)).length,
    'hints-first': own.filter((slice) => slice.endpoints.some((e) => hasWrongHints(pass, e)))
      .length,
    'no-swap': splits.recycles + splits.updates,
    'second-best': splits.secondBest,
    'stale-hints': own.filter((slice) => slice.endpoints.some(hasStaleHints)).length,
  };
  const repacked =
    counts['above-maximum'] +
    counts['empty-slice'] +
    counts['headless-label'] +
    counts['hints-first'];
  return {
    sizes: repacked + counts.deleting + splits.updates === 0,
    endpoints: counts.deleting === 0,
    extraWrites:
      counts['empty-slice'] +
      counts['headless-label'] +
      counts['hints-first'] +
      counts['no-swap'] +
      counts['stale-hints'] +
      // One above the maximum is cut, and what was cut off may need slices of its own.
      own.reduce((sum, { endpoints }) => sum + surplusWrites(endpoints.length, maximum), 0),
    rules: Object.entries(counts).flatMap(([rule, count]) => (count > 0 ? [rule] : [])),
  };
}

const surplusWrites = (size: number, maximum: number): number =>
  size > maximum ? Math.ceil(size / maximum) : 0;

function hasWrongHeadlessLabel(pass: Pass, slice: SliceRecord): boolean {
  const headless = ['', 'None'].includes(pass.input.service?.clusterIP ?? '');
  return headless !== (slice.labels[LABEL_HEADLESS] === '');
}

/** Hints that are not what the endpoint's own zone and readiness ask for. */
function hasWrongHints(pass: Pass, endpoint: EndpointRecord): boolean {
  const { zone, conditions, hints } = endpoint;
  const wanted =
    pass.input.service?.zoneHints === true && conditions.ready === true ? (zone ?? '') : '';
  return (hints?.forZones ?? []).map((hint) => hint.name).join() !== wanted;
}

/** Upstream leaves hints on an endpoint that is not ready. */
function hasStaleHints(endpoint: EndpointRecord): boolean {
  return endpoint.conditions.ready !== true && (endpoint.hints?.forZones ?? []).length > 0;
}
