import { InvalidInputError } from '../../core/errors.ts';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import type { LeftOut } from '../../core/outcome.ts';
import type { IpFamily, ServiceRecord, SliceRecord } from '../../core/records.ts';
import { removalOf, type SliceDraft } from './draft.ts';
import { compareText } from './text.ts';
import type { DesiredEndpoint, EndpointSet } from './endpoint-set.ts';
import { buildEndpoint, conditionsOf } from './endpoint.ts';
import { sliceLabels } from './labels.ts';
import { sliceNamer } from './names.ts';
import { orderWrites } from './order.ts';
import { isInOurHands, isOwnedBy } from './owner.ts';
import { packFamily } from './packing.ts';
import { recycle } from './recycle.ts';
import { unmatchedLabel, whyNoSlices } from './selector.ts';
import type { PlanInput, SlicePlan } from './types.ts';
import { compileService, judgeWorkload } from './workload.ts';
import { assemblePlan } from './writes.ts';

/** What the workloads of a Service come to: one set of endpoints a wanted family. */
interface Desired {
  readonly sets: readonly { readonly family: IpFamily; readonly endpoints: EndpointSet }[];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Plans the writes that make a Service's EndpointSlices right. Pure: the same input gives the same
 * plan whatever the order of its lists, nothing is changed in place, and nothing is ever thrown for
 * what a workload's author wrote. Planning again after the writes gives no writes.
 *
 * The rules are B to G of docs/rules.md; docs/planner.md tells them with examples.
 *
 * @throws InvalidInputError when the maximum of endpoints per slice is less than 1.
 */
export function planSlices(input: PlanInput): SlicePlan {
  const noSlicesBecause = whyNoSlices(input.service);
  if (input.service === null || noSlicesBecause !== null) {
    const drafts = slicesInQuestion(input).map(removalOf);
    return assemblePlan({ drafts, after: new Map() }, { ...NOTHING, noSlicesBecause });
  }
  return planService(input, input.service);
}

const NOTHING = { desired: [], unchanged: [], leftOut: [], labels: {}, nameCreate: () => '' };

function planService(input: PlanInput, service: ServiceRecord): SlicePlan {
  const { options, takenNames, slices } = input;
  if (!(options.maxEndpointsPerSlice >= 1)) {
    throw new InvalidInputError('maxEndpointsPerSlice', 'a slice has to hold an endpoint at least');
  }
  const desired = desiredEndpoints(input, service);
  const labels = sliceLabels(service, options.manager);
  const rules = { service, labels, maxEndpoints: options.maxEndpointsPerSlice };
  const drafts: SliceDraft[] = [];
  const unchanged: SliceRecord[] = [];
  const reusable = Map.groupBy(slicesInQuestion(input), (slice) =>
    isOwnedBy(slice, service) ? slice.addressType : null,
  );
  for (const { family, endpoints } of desired.sets) {
    const packing = packFamily(endpoints, reusable.get(family) ?? [], rules);
    drafts.push(...recycle(packing.drafts));
    unchanged.push(...packing.unchanged);
    reusable.delete(family);
  }
  for (const rest of reusable.values()) drafts.push(...rest.map(removalOf));
  const families = desired.sets.map(({ family }) => family);
  return assemblePlan(orderWrites(drafts, families, !service.deleting), {
    desired: desired.sets.map(({ endpoints }) => endpoints),
    unchanged,
    leftOut: desired.leftOut,
    noSlicesBecause: null,
    labels,
    nameCreate: sliceNamer(service, [...takenNames, ...slices.map(({ name }) => name)]),
  });
}

/**
 * The slices that the plan is about, by name. Only the two labels say which those are: copied labels
 * change with the Service. A slice that is being deleted is gone already, but its name is not free.
 *
 * One that is taken over is planned like any other: that its manager label is not ours makes it differ
 * from what it should be, so that it is written, in place, and ours from then on (B6).
 */
function slicesInQuestion({ key, service, slices, options }: PlanInput): SliceRecord[] {
  return slices
    .filter(
      (slice) =>
        !slice.deleting &&
        slice.labels[LABEL_SERVICE_NAME] === key.name &&
        isInOurHands(slice, service, options),
    )
    .sort((a, b) => compareText(a.name, b.name));
}

function desiredEndpoints({ key, workloads, options }: PlanInput, service: ServiceRecord): Desired {
  const compiled = compileService(service, options);
  const sets = compiled.families.map((family) => ({
    family,
    endpoints: new Map<string, DesiredEndpoint>(),
  }));
  const leftOut: LeftOut[] = [];
  for (const workload of workloads) {
    if (unmatchedLabel(service.selector, workload.labels) !== null) continue;
    const { addresses, portMap, leftOut: reasons } = judgeWorkload(compiled, workload);
    if (reasons.length > 0) leftOut.push(...reasons);
    if (portMap === null) continue;
    const conditions = conditionsOf(service, workload, options.workloadsWithoutStatus);
    for (const { family, endpoints } of sets) {
      const texts = addresses[family];
      if (texts.length === 0) continue;
      const endpoint = buildEndpoint(key.namespace, service, workload, texts, conditions);
      endpoints.set(workload.name, { workload: workload.name, family, endpoint, portMap });
    }
  }
  return { sets, leftOut };
}
