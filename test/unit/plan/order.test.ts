import { describe, expect, it } from '@jest/globals';
import { applyPlan } from './support/apply-plan.ts';
import { aService, plan, sliceOf, slicesOf, notReady, workloads } from './support/builders.ts';
import { counts, ids } from './support/reading.ts';

describe('the order of writes', () => {
  it('is creates, updates, deletes, each by name (H2, F7)', () => {
    const gone = sliceOf('web-8', workloads(3, {}, 900), {
      ports: [{ name: 'http', port: 1, protocol: 'TCP' }],
      owners: [],
    });
    const result = plan({
      workloads: notReady(workloads(400), 0, 60),
      slices: [gone, ...slicesOf(60, 70).toReversed()],
    });
    expect(result.writes.map(({ verb }) => verb)).toEqual([
      'create',
      'create',
      'update',
      'update',
      'delete',
    ]);
    expect(ids(result)).toEqual([
      ...ids(result).slice(0, 2).sort(),
      'update/web-0',
      'update/web-1',
      'delete/web-8',
    ]);
  });

  it('lets an update that drops an endpoint wait for the write that adds it elsewhere (H2)', () => {
    const all = workloads(3);
    const [first, ...rest] = all;
    if (first === undefined) throw new Error('no workload');
    const now = [
      { ...first, ports: [{ name: 'http', port: 9, protocol: 'TCP' as const }] },
      ...rest,
    ];
    const { writes } = plan({ workloads: now, slices: [sliceOf('web-0', all)] });
    expect(writes[0]).toMatchObject({ verb: 'create', after: [] });
    expect(writes[1]).toMatchObject({ id: 'update/web-0', after: [writes[0]?.id] });
  });

  it('makes no write wait that drops what nobody wants (H2)', () => {
    const result = plan({ workloads: workloads(2), slices: slicesOf(3) });
    expect(result.writes).toMatchObject([{ id: 'update/web-0', after: [] }]);
  });

  const [p, q] = [
    { name: 'http', port: 8080, protocol: 'TCP' as const },
    { name: 'http', port: 9090, protocol: 'TCP' as const },
  ];

  /** vm-0 to vm-2 at 8080 in web-p, vm-3 to vm-5 at 9090 in web-q; then `swapped` change sides. */
  function swap(...swapped: number[]) {
    const all = workloads(6).map((each, index) => ({ ...each, ports: [index < 3 ? p : q] }));
    const slices = [
      sliceOf('web-p', all.slice(0, 3), { ports: [p] }),
      sliceOf('web-q', all.slice(3), { ports: [q] }),
    ];
    const now = all.map((each, index) =>
      swapped.includes(index) ? { ...each, ports: [index < 3 ? q : p] } : each,
    );
    return { slices, now };
  }

  it('cuts a circle of updates that swap endpoints with a slice that only adds (H2)', () => {
    const { slices, now } = swap(0, 3);
    const result = plan({ workloads: now, slices });
    expect(counts(result)).toEqual({ create: 1, update: 2, delete: 0 });
    expect(result.writes[0]?.after).toEqual([]);
    const after = applyPlan(slices, result, { service: aService(), max: 100 });
    expect(plan({ workloads: now, slices: after }).writes).toEqual([]);
  });

  it('swaps whole slices in place, without a circle (F6, H2)', () => {
    const { slices, now } = swap(0, 1, 2, 3, 4, 5);
    const result = plan({ workloads: now, slices });
    expect(ids(result)).toEqual(['update/web-p', 'update/web-q']);
    expect(result.writes.map(({ after }) => after)).toEqual([[], []]);
  });

  it('does not recycle a pair that would close a circle (F6, H2)', () => {
    // web-p loses two of three and takes vm-3; web-q loses all it has. The new slice for vm-0 and
    // vm-1 could take web-q's name, but then each of the two slices would wait for the other.
    const all = workloads(4).map((each, index) => ({ ...each, ports: [index < 3 ? p : q] }));
    const r = { ...p, port: 7070 };
    const slices = [
      sliceOf('web-p', all.slice(0, 3), { ports: [p] }),
      sliceOf('web-q', all.slice(3), { ports: [q] }),
    ];
    const now = all.map((each, index) => ({ ...each, ports: [index < 2 ? r : p] }));
    const result = plan({ workloads: now, slices });
    expect(counts(result)).toEqual({ create: 1, update: 1, delete: 1 });
    applyPlan(slices, result, { service: aService(), max: 100 });
  });

  it('cuts a circle by not waiting while nothing may be created (B2, H2)', () => {
    const { slices, now } = swap(0, 3);
    const result = plan({ service: aService({ deleting: true }), workloads: now, slices });
    expect(counts(result)).toEqual({ create: 0, update: 2, delete: 0 });
    expect(result.writes.map(({ after }) => after.length).sort((a, b) => a - b)).toEqual([0, 1]);
  });
});
