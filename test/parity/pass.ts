import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import type { SliceRecord } from '../../core/records.ts';
import type { PlanInput, SlicePlan } from '../../functions/plan/types.ts';
import type { UpstreamOutcome } from './upstream.ts';

/** One pass of both sides over one input. */
export interface Pass {
  readonly input: PlanInput;
  readonly plan: SlicePlan;
  /** The slices once the plan is applied. */
  readonly after: readonly SliceRecord[];
  readonly upstream: UpstreamOutcome;
}

/** The slices that a plan is about: of this Service and this manager, and not on their way out. */
export function ownSlices(input: PlanInput, slices: readonly SliceRecord[]): SliceRecord[] {
  return slices.filter(
    (slice) =>
      !slice.deleting &&
      slice.labels[LABEL_SERVICE_NAME] === input.key.name &&
      slice.labels[LABEL_MANAGED_BY] === input.options.manager,
  );
}
