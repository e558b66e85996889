import { describe, expect, it } from '@jest/globals';
import { applyPlan } from './support/apply-plan.ts';
import {
  aPort,
  aService,
  anEndpoint,
  aWorkload,
  plan,
  sliceOf,
  slicesOf,
  workloads,
} from './support/builders.ts';
import { counts, ids, onlyEndpoint, sizes, written } from './support/reading.ts';

describe('recycling', () => {
  const moved = aService({ ports: [aPort({ targetPort: 'new' })] });
  const withNew = (count: number) =>
    workloads(count, {
      ports: [
        { name: 'http', port: 8080, protocol: 'TCP' },
        { name: 'new', port: 9090, protocol: 'TCP' },
      ],
    });

  it('makes ten slices of 30 and a port change 3 updates of 100 and 7 deletes (F6, F8)', () => {
    const slices = slicesOf(...Array.from({ length: 10 }, () => 30));
    const result = plan({ service: moved, workloads: withNew(300), slices });
    expect(counts(result)).toEqual({ create: 0, update: 3, delete: 7 });
    expect(sizes(result)).toEqual([100, 100, 100]);
    const updates = new Set(ids(result).filter((id) => id.startsWith('update/')));
    for (const write of result.writes) {
      if (write.verb === 'delete') expect(write.after.some((id) => updates.has(id))).toBe(true);
    }
    expect(applyPlan(slices, result, { service: moved, max: 100 })).toHaveLength(3);
  });

  it('carries the version that was read, and states the new ports and labels (F6, H1)', () => {
    const service = { ...moved, labels: { team: 'blue' } };
    const slices = slicesOf(3);
    const { writes } = plan({ service, workloads: withNew(3), slices });
    expect(writes).toMatchObject([
      {
        verb: 'update',
        previous: slices[0],
        slice: { name: 'web-0', labels: { team: 'blue' }, ports: [{ port: 9090 }] },
      },
    ]);
  });

  it('pairs the two that share most endpoints (F6)', () => {
    const all = withNew(200);
    const slices = [
      sliceOf('web-a', all.slice(120)),
      sliceOf('web-b', all.slice(0, 20)),
      sliceOf('web-c', all.slice(20, 120)),
    ];
    const result = plan({ service: moved, workloads: all, slices });
    expect(ids(result)).toEqual(['update/web-a', 'update/web-c', 'delete/web-b']);
    expect(written(result)[1]?.endpoints[0]?.targetRef?.name).toBe('vm-0000');
  });

  it('reuses a slice that shares nothing rather than create and delete (F6)', () => {
    const result = plan({ workloads: workloads(3, {}, 500), slices: slicesOf(3) });
    expect(ids(result)).toEqual(['update/web-0']);
  });

  it('reuses the slice of a single workload whose address changed (F6)', () => {
    const one = aWorkload('vm-1');
    const result = plan({
      workloads: [{ ...one, ips: ['10.0.0.9'] }],
      slices: [sliceOf('web-0', [one])],
    });
    expect(ids(result)).toEqual(['update/web-0']);
    expect(onlyEndpoint(result)).toEqual(anEndpoint({ ...one, ips: ['10.0.0.9'] }));
  });

  it('never recycles across families (F6, C2)', () => {
    const service = aService({ ipFamilies: ['IPv4', 'IPv6'] });
    const slices = [sliceOf('web-0', [aWorkload('gone')])];
    const result = plan({ service, workloads: [aWorkload('vm-6', { ips: ['fd00::1'] })], slices });
    expect(counts(result)).toEqual({ create: 1, update: 0, delete: 1 });
  });
});
