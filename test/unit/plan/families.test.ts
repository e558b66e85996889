import { describe, expect, it } from '@jest/globals';
import { wantedFamilies } from '../../../functions/plan/families.ts';
import { aService, aWorkload, plan, sliceOf } from './support/builders.ts';
import { counts, ids, onlySlice, reasons, written } from './support/reading.ts';

const dual = aWorkload('vm-d', { ips: ['10.20.0.40', 'fd00:20::40'] });

describe('address families', () => {
  it.each([
    [['IPv4'], '10.96.0.1', ['IPv4']],
    [['IPv6', 'IPv4'], 'fd00::1', ['IPv4', 'IPv6']],
    [['IPv6'], '10.96.0.1', ['IPv6']],
    [[], '10.96.0.1', ['IPv4']],
    [[], 'fd00:96::1', ['IPv6']],
    [[], 'None', ['IPv4', 'IPv6']],
    [[], '', ['IPv4', 'IPv6']],
  ] as const)('of ipFamilies %j and clusterIP %j come %j (C1)', (ipFamilies, clusterIP, wanted) => {
    expect(wantedFamilies(aService({ ipFamilies, clusterIP }))).toEqual(wanted);
  });

  it('makes one slice a family of a dual-stack Service (C1, D9)', () => {
    const service = aService({ ipFamilies: ['IPv6', 'IPv4'] });
    const slices = written(plan({ service, workloads: [dual] }));
    expect(
      slices
        .map(({ addressType, endpoints }) => [addressType, endpoints[0]?.addresses])
        .sort((a, b) => String(a).localeCompare(String(b))),
    ).toEqual([
      ['IPv4', ['10.20.0.40']],
      ['IPv6', ['fd00:20::40']],
    ]);
    expect(new Set(slices.map(({ name }) => name)).size).toBe(2);
  });

  it('gives an IPv6 Service the IPv6 address, though it comes second (C1)', () => {
    const slice = onlySlice(
      plan({ service: aService({ ipFamilies: ['IPv6'] }), workloads: [dual] }),
    );
    expect(slice).toMatchObject({ addressType: 'IPv6' });
    expect(slice.endpoints[0]?.addresses).toEqual(['fd00:20::40']);
  });

  it('never puts an address into a slice of the other family (C2, D2)', () => {
    const six = aWorkload('vm-6', { ips: ['fd00:20::a1'] });
    const result = plan({ workloads: [six] });
    expect(result.writes).toEqual([]);
    expect(reasons(result)).toEqual(['vm-6: no-address-in-family']);
  });

  it.each(['IPv6', 'FQDN', 'IP'])(
    'deletes our slices of type %s when IPv4 is wanted (C2)',
    (type) => {
      const slices = [sliceOf('web-1', [dual], { addressType: type })];
      const result = plan({ workloads: [aWorkload('vm-1')], slices });
      expect(counts(result)).toEqual({ create: 1, update: 0, delete: 1 });
      expect(ids(result)).toContain('delete/web-1');
    },
  );

  it('replaces slices of the legacy type IP make-before-break (C2, H2)', () => {
    const one = aWorkload('vm-1');
    const { writes } = plan({
      workloads: [one],
      slices: [sliceOf('web-1', [one], { addressType: 'IP' })],
    });
    expect(writes[1]).toMatchObject({ id: 'delete/web-1', after: [writes[0]?.id] });
  });

  it('writes the new family before the old one goes (C2, H2)', () => {
    const old = { ...dual, ips: ['10.20.0.40'] };
    const service = aService({ ipFamilies: ['IPv6'] });
    const { writes } = plan({ service, workloads: [dual], slices: [sliceOf('web-1', [old])] });
    expect(writes[1]).toMatchObject({ id: 'delete/web-1', after: [writes[0]?.id] });
  });

  it('makes the writes of one family wait for none of the other (C2)', () => {
    const service = aService({ ipFamilies: ['IPv4', 'IPv6'] });
    const old = { ...dual, ips: ['10.20.0.40'] };
    const moved = { ...dual, ips: ['fd00:20::40'] };
    const { writes } = plan({ service, workloads: [moved], slices: [sliceOf('web-1', [old])] });
    expect(writes.map(({ verb, after }) => [verb, after])).toEqual([
      ['create', []],
      ['delete', []],
    ]);
  });
});
