import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SliceRecord } from '../../../core/records.ts';
import { sliceLabels } from '../../../functions/plan/labels.ts';
import { planSlices } from '../../../functions/plan/plan-slices.ts';
import type { PlanInput, SlicePlan } from '../../../functions/plan/types.ts';
import { applyPlan } from './support/apply-plan.ts';
import { FC_PARAMETERS, inputArb, workloadsArb } from './support/arbitraries.ts';
import { anInput, aService, deepFreeze, plan } from './support/builders.ts';
import { actualEndpoints, expectedEndpoints } from './support/oracle.ts';
import { counts, endpoints } from './support/reading.ts';
import { portsText, upstreamWrites } from './support/upstream-reference.ts';

fc.configureGlobal(FC_PARAMETERS);

/** Every write in some order that `after` allows; `turns` picks the order. */
function apply(
  input: PlanInput,
  result: SlicePlan,
  turns: readonly number[],
  failing: string[] = [],
) {
  let turn = 0;
  return applyPlan(input.slices, result, {
    service: input.service,
    max: input.options.maxEndpointsPerSlice,
    pick: (count) => (turns[turn++ % Math.max(turns.length, 1)] ?? 0) % count,
    failing,
    // Nothing can be created then, so that not every circle can be cut without a gap.
    gaps: input.service?.deleting ?? false,
  });
}

const turnsArb = fc.array(fc.nat(97), { minLength: 1, maxLength: 20 });
const living = (slices: readonly SliceRecord[]) => slices.filter(({ deleting }) => !deleting);

describe('for any Service, workloads and slices, the planner', () => {
  it('comes to exactly the desired endpoints, and no reader misses one on the way (D, E, F, H2)', () => {
    fc.assert(
      fc.property(inputArb, turnsArb, (input, turns) => {
        const after = apply(input, planSlices(input), turns);
        expect(actualEndpoints(living(after))).toEqual(expectedEndpoints(input));
      }),
    );
  });

  it('writes nothing the second time, and nothing that is right (F2, H3)', () => {
    fc.assert(
      fc.property(inputArb, turnsArb, (input, turns) => {
        const result = planSlices(input);
        const again = planSlices({ ...input, slices: apply(input, result, turns) });
        expect(again).toMatchObject({ writes: [], dropped: [], leftOut: result.leftOut });
        const { endpoints: total, ready, slices, noSlicesBecause } = again;
        expect(result).toMatchObject({ endpoints: total, ready, slices, noSlicesBecause });
        expect(total).toBe(expectedEndpoints(input).length);
      }),
    );
  });

  it('never exceeds the maximum, in what it writes and in what it leaves (F1)', () => {
    fc.assert(
      fc.property(inputArb, turnsArb, (input, turns) => {
        const { maxEndpointsPerSlice } = input.options;
        for (const slice of living(apply(input, planSlices(input), turns))) {
          expect(slice.endpoints.length).toBeLessThanOrEqual(maxEndpointsPerSlice);
        }
      }),
    );
  });

  it('minds the order of no list, nor of the endpoints in a slice (F7)', () => {
    const shuffled = inputArb.chain((input) =>
      fc
        .record({
          workloads: fc.shuffledSubarray([...input.workloads], {
            minLength: input.workloads.length,
          }),
          slices: fc.shuffledSubarray(
            input.slices.map((slice) => ({ ...slice, endpoints: slice.endpoints.toReversed() })),
            { minLength: input.slices.length },
          ),
        })
        .map((lists) => [input, { ...input, ...lists }] as const),
    );
    // The slice as it was read is carried as it is, so that its own order is left out here.
    const read = (result: SlicePlan) => ({
      ...result,
      writes: result.writes.map((write) => ({ ...write, previous: undefined })),
    });
    fc.assert(
      fc.property(shuffled, ([input, other]) => {
        expect(read(planSlices(other))).toEqual(read(planSlices(input)));
      }),
    );
  });

  it('changes no input and gives the same plan twice (F7, report 39)', () => {
    fc.assert(
      fc.property(inputArb, (input) => {
        const first = planSlices(deepFreeze(input));
        expect(planSlices(structuredClone(input))).toEqual(first);
        expect(planSlices(input)).toEqual(first);
      }),
    );
  });

  it('loses nothing when any of the writes fails, and comes right at the next run (H1, H2)', () => {
    fc.assert(
      fc.property(inputArb, turnsArb, fc.nat(), (input, turns, which) => {
        const result = planSlices(input);
        const failing = result.writes[which % Math.max(result.writes.length, 1)]?.id ?? '';
        const slices = apply(input, result, turns, [failing]);
        const next = { ...input, slices };
        const after = apply(next, planSlices(next), turns);
        expect(actualEndpoints(living(after))).toEqual(expectedEndpoints(input));
      }),
    );
  });

  it('creates nothing for a Service that is being deleted, and settles (B2)', () => {
    fc.assert(
      fc.property(inputArb, turnsArb, (input, turns) => {
        const service = aService({ ...input.service, deleting: true });
        const result = planSlices({ ...input, service });
        expect(counts(result).create).toBe(0);
        const slices = apply({ ...input, service }, result, turns);
        expect(planSlices({ ...input, service, slices }).writes).toEqual([]);
      }),
    );
  });
});

describe('compared with the algorithm of k8s.io/endpointslice', () => {
  /**
   * Worlds in which upstream's rules are ours: one family, slices of ours that are neither empty nor
   * too full. With one port set for all there can be no circle either.
   */
  const comparable = (oneGroup: boolean) =>
    inputArb.map(({ workloads, slices, options, service }) => {
      const port = { name: 'http', port: 8080, protocol: 'TCP' as const };
      const { maxEndpointsPerSlice: max } = options;
      return anInput({
        service: aService({ zoneHints: service?.zoneHints ?? false }),
        workloads: oneGroup ? workloads.map((each) => ({ ...each, ports: [port] })) : workloads,
        slices: slices
          .filter(
            ({ owners, deleting, addressType, endpoints: { length } }) =>
              owners[0]?.uid !== 'older' &&
              !deleting &&
              addressType === 'IPv4' &&
              length > 0 &&
              length <= max,
          )
          .map((slice) => (oneGroup ? { ...slice, ports: [port] } : slice)),
        options: { maxEndpointsPerSlice: max },
      });
    });

  function reference(input: PlanInput): number {
    const fresh = planSlices({ ...input, slices: [] });
    const desired = fresh.writes.flatMap((write) => {
      if (write.verb === 'delete') return [];
      const ports = portsText(write.slice.ports);
      return write.slice.endpoints.map((endpoint) => ({ ports, endpoint }));
    });
    const { maxEndpointsPerSlice: max, manager } = input.options;
    return upstreamWrites(desired, input.slices, sliceLabels(aService(), manager), max);
  }

  it('it never writes more (F2 to F6)', () => {
    fc.assert(
      fc.property(comparable(true), (input) => {
        expect(planSlices(input).writes.length).toBeLessThanOrEqual(reference(input));
      }),
    );
  });

  it('it writes more only to cut a circle, by one create each (H2)', () => {
    fc.assert(
      fc.property(comparable(false), (input) => {
        const result = planSlices(input);
        const extra = result.writes.length - reference(input);
        expect(extra).toBeLessThanOrEqual(counts(result).create);
      }),
    );
  });

  it('agrees that a fresh Service takes as few slices as can be (F1)', () => {
    fc.assert(
      fc.property(workloadsArb, fc.constantFrom(1, 2, 3), (workloads, max) => {
        const one = workloads.map((each) => ({
          ...each,
          ports: [{ name: 'http', port: 1, protocol: 'TCP' as const }],
        }));
        const result = plan({ workloads: one, options: { maxEndpointsPerSlice: max } });
        expect(result.writes).toHaveLength(Math.ceil(endpoints(result).length / max));
      }),
    );
  });
});
