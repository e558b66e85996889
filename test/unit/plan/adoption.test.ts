import { describe, expect, it } from '@jest/globals';
import { DEFAULT_MANAGER, LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../../core/names.ts';
import type { SliceRecord, WorkloadRecord } from '../../../core/records.ts';
import { applyPlan } from './support/apply-plan.ts';
import { aPort, aService, OWNER, plan, sliceOf, workloads } from './support/builders.ts';
import { addresses, counts, ids, onlySlice, onlyWrite } from './support/reading.ts';

const LINKERD = 'linkerd-external-workloads-controller';
const options = { adopt: [LINKERD] };

/** A slice as Linkerd's controller leaves it. */
function theirs(
  name: string,
  members: readonly WorkloadRecord[],
  overrides: Partial<SliceRecord> = {},
): SliceRecord {
  const labels = { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: LINKERD };
  return sliceOf(`linkerd-external-web-${name}`, members, { labels, ...overrides });
}

describe('a slice of a manager that is taken over (B6)', () => {
  const members = workloads(3);

  it('becomes ours by one update in place that changes its label alone', () => {
    const slice = theirs('a', members);
    const result = plan({ workloads: members, slices: [slice], options });
    expect(onlyWrite(result)).toMatchObject({ verb: 'update', previous: slice });
    const { labels, endpoints, name } = onlySlice(result);
    expect(name).toBe(slice.name);
    expect(endpoints).toEqual(slice.endpoints);
    expect(labels).toEqual({ ...slice.labels, [LABEL_MANAGED_BY]: DEFAULT_MANAGER });
    expect(result.changed).toBe(0);
  });

  it('is ours from then on, also without the option (H3)', () => {
    const slices = [theirs('a', members)];
    const result = plan({ workloads: members, slices, options });
    const after = applyPlan(slices, result, { service: aService(), max: 100 });
    expect(plan({ workloads: members, slices: after }).writes).toEqual([]);
  });

  it('gets what is still missing in the same write', () => {
    const slice = theirs('a', members.slice(0, 2));
    const result = plan({ workloads: members, slices: [slice], options });
    expect(counts(result)).toEqual({ create: 0, update: 1, delete: 0 });
    expect(onlySlice(result).endpoints).toHaveLength(3);
  });

  it('of ports that are written otherwise is rewritten where it is', () => {
    // Linkerd's controller leaves the appProtocol out.
    const service = aService({ ports: [aPort({ appProtocol: 'kubernetes.io/h2c' })] });
    const slice = theirs('a', members);
    const result = plan({ service, workloads: members, slices: [slice], options });
    expect(ids(result)).toEqual([`update/${slice.name}`]);
    expect(onlySlice(result).ports).toMatchObject([{ appProtocol: 'kubernetes.io/h2c' }]);
  });

  it('is one of several: each gets one update', () => {
    const many = workloads(150);
    const slices = [theirs('a', many.slice(0, 100)), theirs('b', many.slice(100))];
    const result = plan({ workloads: many, slices, options });
    expect(counts(result)).toEqual({ create: 0, update: 2, delete: 0 });
    expect(result.writes.every(({ after }) => after.length === 0)).toBe(true);
  });

  it('beside one of ours that has the same endpoints: one of the two is left', () => {
    const slices = [theirs('a', members), sliceOf('web-ew-1', members)];
    const result = plan({ workloads: members, slices, options });
    const after = applyPlan(slices, result, { service: aService(), max: 100 });
    expect(after).toHaveLength(1);
    expect(after[0]?.endpoints).toHaveLength(3);
    expect(after[0]?.labels[LABEL_MANAGED_BY]).toBe(DEFAULT_MANAGER);
  });

  it('goes when its Service gets no slices any more, as ours do', () => {
    const slice = theirs('a', members);
    const service = aService({ selector: {} });
    expect(ids(plan({ service, slices: [slice], options }))).toEqual([`delete/${slice.name}`]);
  });
});

describe('a slice of another manager stays untouched, and its name is taken', () => {
  const [member] = workloads(1);
  const members = member === undefined ? [] : [member];
  const slice = theirs('a', members);

  it.each([
    ['unless it is to be taken over', slice, {}],
    ['if another manager is', slice, { adopt: ['somebody-else'] }],
    ['if nobody owns it', { ...slice, owners: [] }, options],
    [
      'if an earlier Service of that name owns it',
      { ...slice, owners: [{ ...OWNER, uid: 'an earlier one' }] },
      options,
    ],
    [
      'if it names another Service',
      { ...slice, labels: { ...slice.labels, [LABEL_SERVICE_NAME]: 'other' } },
      options,
    ],
    ['while it is being deleted', { ...slice, deleting: true }, options],
  ])('%s', (_when, left, given) => {
    const result = plan({ workloads: members, slices: [left], options: given });
    expect(counts(result)).toEqual({ create: 1, update: 0, delete: 0 });
    expect(onlySlice(result).name).not.toBe(left.name);
    expect(addresses(result)).toHaveLength(1);
  });

  it('if its Service is gone: the garbage collector takes it', () => {
    expect(plan({ service: null, slices: [slice], options }).writes).toEqual([]);
  });
});
