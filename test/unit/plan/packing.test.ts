import { describe, expect, it } from '@jest/globals';
import { InvalidInputError } from '../../../core/errors.ts';
import { aWorkload, plan, sliceOf, slicesOf, notReady, workloads } from './support/builders.ts';
import { addresses, counts, ids, sizes, written } from './support/reading.ts';

describe('packing', () => {
  it('makes 250 new endpoints 100, 100 and 50 (F1, F8)', () => {
    const result = plan({ workloads: workloads(250) });
    expect(counts(result)).toEqual({ create: 3, update: 0, delete: 0 });
    expect(sizes(result)).toEqual([100, 100, 50]);
    expect(result).toMatchObject({ endpoints: 250, ready: 250, slices: 3, unchanged: [] });
  });

  it.each([
    [50, 5],
    [80, 4],
    [150, 2],
    [250, 1],
    [1000, 1],
    [1, 250],
  ])('spreads 250 endpoints at a maximum of %d over %d slices (F1)', (max, slices) => {
    const result = plan({ workloads: workloads(250), options: { maxEndpointsPerSlice: max } });
    expect(counts(result).create).toBe(slices);
    expect(Math.max(...sizes(result))).toBeLessThanOrEqual(max);
  });

  it('writes nothing when everything is right (F2, H3)', () => {
    const result = plan({ workloads: workloads(150), slices: slicesOf(100, 50) });
    expect(result).toMatchObject({ writes: [], unchanged: ['web-0', 'web-1'], slices: 2 });
    expect(result).toMatchObject({ endpoints: 150, ready: 150, dropped: [] });
  });

  it('puts 127 more beside 62 and 61 that are right: create 100, fill the 62 to 89 (F4, F8)', () => {
    const result = plan({ workloads: workloads(250), slices: slicesOf(62, 61) });
    expect(counts(result)).toEqual({ create: 1, update: 1, delete: 0 });
    expect(sizes(result)).toEqual([100, 89]);
    expect(result.unchanged).toEqual(['web-1']);
  });

  it('puts 152 more beside 74 and 74 into new slices of 100 and 52 (F4, F8)', () => {
    const result = plan({ workloads: workloads(300), slices: slicesOf(74, 74) });
    expect(counts(result)).toEqual({ create: 2, update: 0, delete: 0 });
    expect(sizes(result)).toEqual([100, 52]);
  });

  it('fills the fullest first of the slices that change anyway: 95 and 20 (F3, F8)', () => {
    const all = notReady(workloads(115), 0, 80);
    const result = plan({ workloads: all, slices: slicesOf(80, 20) });
    expect(counts(result)).toEqual({ create: 0, update: 2, delete: 0 });
    expect(sizes(result)).toEqual([95, 20]);
  });

  it('counts the endpoints that come, go and change their state, so that a burst is known', () => {
    const right = { workloads: workloads(150), slices: slicesOf(100, 50) };
    expect(plan(right).changed).toBe(0);
    expect(plan({ ...right, workloads: notReady(workloads(150), 10, 11, 120) }).changed).toBe(3);
    expect(plan({ ...right, workloads: workloads(152) }).changed).toBe(2);
    expect(plan({ ...right, workloads: workloads(146) }).changed).toBe(4);
  });

  it('fills several changing slices before it touches others (F3)', () => {
    const all = notReady(workloads(240), 0, 60);
    const result = plan({ workloads: all, slices: slicesOf(60, 70, 50) });
    expect(sizes(result)).toEqual([100, 90]);
    expect(result.unchanged).toEqual(['web-2']);
  });

  it('counts a slice that only changes its labels among those that change (F3)', () => {
    const [first, second] = slicesOf(10, 50);
    if (first === undefined || second === undefined) throw new Error('no slices');
    const stale = { ...first, labels: { ...first.labels, stale: 'yes' } };
    const result = plan({ workloads: workloads(70), slices: [stale, second] });
    expect(sizes(result)).toEqual([20]);
    expect(result.unchanged).toEqual(['web-1']);
  });

  it('never splits a remainder over several slices that are right (F4)', () => {
    const result = plan({ workloads: workloads(195), slices: slicesOf(90, 90) });
    expect(counts(result)).toEqual({ create: 1, update: 0, delete: 0 });
    expect(sizes(result)).toEqual([15]);
  });

  it('gives a remainder to the slice that it makes fullest, by name where two are as full (F4)', () => {
    const result = plan({ workloads: workloads(205), slices: slicesOf(50, 70, 70, 5) });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(sizes(result)).toEqual([80]);
  });

  it('keeps unchanged endpoints where they are, and changes one of 5,000 in one write (F2, F8)', () => {
    const sizesOfFifty = Array.from({ length: 50 }, () => 100);
    const result = plan({
      workloads: notReady(workloads(5000), 2717),
      slices: slicesOf(...sizesOfFifty),
    });
    expect(ids(result)).toEqual(['update/web-27']);
    expect(sizes(result)).toEqual([100]);
    expect(result).toMatchObject({ endpoints: 5000, ready: 4999, slices: 50 });
  });

  it('deletes a slice that is left with nothing, an empty one too (F5)', () => {
    const slices = [...slicesOf(3, 2), sliceOf('web-9', [])];
    const result = plan({ workloads: workloads(3), slices });
    expect(ids(result)).toEqual(['delete/web-1', 'delete/web-9']);
    expect(result).toMatchObject({ slices: 1, unchanged: ['web-0'] });
  });

  it('keeps an endpoint that two slices hold in the first, as a crash may leave it (F2)', () => {
    const both = workloads(3);
    const result = plan({
      workloads: both,
      slices: [sliceOf('web-b', both.slice(0, 2)), sliceOf('web-a', both.slice(1))],
    });
    expect(ids(result)).toEqual(['update/web-b']);
    expect(addresses(result)).toEqual(['10.20.0.0']);
  });

  it('removes a double in a slice of ports that are no longer wanted (F5)', () => {
    const one = aWorkload('vm-e');
    const slices = [
      sliceOf('web-new', [one]),
      sliceOf('web-old', [one], { ports: [{ name: 'http', port: 1, protocol: 'TCP' }] }),
    ];
    expect(plan({ workloads: [one], slices }).writes).toMatchObject([
      { id: 'delete/web-old', after: [] },
    ]);
  });

  it('takes the surplus out of slices that exceed a lowered maximum (F1)', () => {
    const result = plan({
      workloads: workloads(260),
      slices: slicesOf(150, 110),
      options: { maxEndpointsPerSlice: 100 },
    });
    expect(counts(result)).toEqual({ create: 1, update: 2, delete: 0 });
    expect(sizes(result)).toEqual([100, 100, 60]);
    const create = result.writes[0]?.id ?? '';
    expect(result.writes.slice(1).map(({ after }) => after)).toEqual([[create], [create]]);
  });

  it('leaves a slice at a lowered maximum alone (F1)', () => {
    const options = { maxEndpointsPerSlice: 100 };
    expect(plan({ workloads: workloads(100), slices: slicesOf(100), options }).writes).toEqual([]);
  });

  it('writes a changed address in the slice that had the old one (F3)', () => {
    const all = workloads(200);
    const now = all.map((each, index) =>
      index % 100 === 10 ? { ...each, ips: [`10.99.0.${index}`] } : each,
    );
    const slices = [sliceOf('web-0', all.slice(100)), sliceOf('web-1', all.slice(0, 100))];
    const result = plan({ workloads: now, slices });
    expect(result.writes.map(({ after }) => after)).toEqual([[], []]);
    const homes = written(result).map((slice) => [
      slice.name,
      slice.endpoints.flatMap((each) => each.addresses).filter((text) => text.startsWith('10.99')),
    ]);
    expect(homes).toEqual([
      ['web-0', ['10.99.0.110']],
      ['web-1', ['10.99.0.10']],
    ]);
  });

  it('sorts the endpoints of what it writes by workload (F7)', () => {
    const all = workloads(9);
    const names = written(plan({ workloads: all.toReversed() })).flatMap(({ endpoints }) =>
      endpoints.map(({ targetRef }) => targetRef?.name),
    );
    expect(names).toEqual(all.map(({ name }) => name));
  });

  it('counts the same workload twice as one (D9)', () => {
    expect(plan({ workloads: [aWorkload('vm-1'), aWorkload('vm-1')] })).toMatchObject({
      endpoints: 1,
      slices: 1,
    });
  });

  it.each([0, -1, Number.NaN])('refuses a maximum of %d rather than never end (F1)', (max) => {
    expect(() => plan({ options: { maxEndpointsPerSlice: max } })).toThrow(InvalidInputError);
  });
});
