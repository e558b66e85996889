import { describe, expect, it } from '@jest/globals';
import { isWithin, parseCidr, type Cidr } from '../../../core/cidr.ts';
import { explainService } from '../../../functions/plan/explain.ts';
import { aService, aWorkload, OPTIONS, plan } from './support/builders.ts';
import { addresses, reasons } from './support/reading.ts';

/*
 * Whoever writes an ExternalWorkload chooses where the traffic of a Service goes. Whoever runs Tether
 * may say which ranges are workloads' and which (Pods, Services, nodes) are not.
 */
function ranges(...texts: string[]): Cidr[] {
  return texts.map((text) => {
    const range = parseCidr(text);
    if (range === null) throw new Error(`not a range: ${text}`);
    return range;
  });
}

const DENY = { workloadCidrsDeny: ranges('10.96.0.0/12', 'fd00:10:96::/112') };
const ALLOW = { workloadCidrsAllow: ranges('192.0.2.0/24', '10.96.0.0/16') };

describe('ranges of addresses', () => {
  it('keep a denied address out alone, and say which range it is in (report 114)', () => {
    const ips = ['10.96.0.1', '192.0.2.1'];
    const result = plan({ workloads: [aWorkload('vm-1', { ips })], options: DENY });
    expect(addresses(result)).toEqual(['192.0.2.1']);
    expect(reasons(result)).toEqual(['vm-1: address-refused']);
    expect(result.leftOut[0]).toMatchObject({ warn: true });
    expect(result.leftOut[0]?.detail).toContain(
      '"10.96.0.1" is in 10.96.0.0/12, which --workload-cidrs-deny excludes',
    );
  });

  it('let in nothing but what is allowed, and of that nothing denied (report 114)', () => {
    const workloads = ['192.0.2.200', '198.51.100.1', '10.96.0.1', '10.96.255.255'].map((ip) =>
      aWorkload(`vm-${ip.replaceAll('.', '-')}`, { ips: [ip] }),
    );
    expect(addresses(plan({ workloads, options: ALLOW }))).toEqual([
      '10.96.0.1',
      '10.96.255.255',
      '192.0.2.200',
    ]);
    const both = plan({ workloads, options: { ...ALLOW, ...DENY } });
    expect(addresses(both)).toEqual(['192.0.2.200']);
    expect(both.leftOut.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('"10.96.0.1" is in 10.96.0.0/12'),
      expect.stringContaining('"10.96.255.255" is in 10.96.0.0/12'),
      expect.stringContaining('"198.51.100.1" is in no range of --workload-cidrs-allow'),
    ]);
  });

  it('judge the address and not how it is written (report 114)', () => {
    const service = aService({ ipFamilies: ['IPv6'] });
    const ips = ['FD00:0010:0096:0:0:0:0:1', 'fd00:10:96::0.0.255.255', 'fd00:10:97::1'];
    const workloads = [aWorkload('vm-1', { ips })];
    expect(addresses(plan({ service, workloads, options: DENY }))).toEqual(['fd00:10:97::1']);
  });

  it('allowed for one family alone let none of the other in (report 114)', () => {
    const service = aService({ ipFamilies: ['IPv4', 'IPv6'] });
    const workloads = [aWorkload('vm-1', { ips: ['192.0.2.1', 'fd00::1'] })];
    const result = plan({ service, workloads, options: ALLOW });
    expect(addresses(result)).toEqual(['192.0.2.1']);
    expect(result.leftOut[0]?.detail).toContain('"fd00::1" is in no range');
  });

  it('say nothing of a family that the Service does not want (report 114)', () => {
    const workloads = [aWorkload('vm-1', { ips: ['192.0.2.1', 'fd00:10:96::1'] })];
    expect(plan({ workloads, options: DENY }).leftOut).toEqual([]);
  });

  it('take an endpoint out that was there before (report 114)', () => {
    const workloads = [aWorkload('vm-1', { ips: ['10.96.0.1'] })];
    const before = plan({ workloads }).writes[0];
    if (before?.verb !== 'create') throw new Error('no slice was planned');
    const { slice } = before;
    const slices = [{ ...slice, uid: 'u', rv: '1', deleting: false, owners: [] }];
    expect(plan({ workloads, slices, options: DENY }).writes).toMatchObject([{ verb: 'delete' }]);
  });

  it('are named by explain (report 114)', () => {
    const workload = aWorkload('vm-1', { ips: ['10.96.0.1'] });
    const { workloads } = explainService(aService(), [workload], { ...OPTIONS, ...DENY });
    expect(workloads[0]).toMatchObject({ included: false });
    expect(workloads[0]?.summary).toContain('"10.96.0.1" is in 10.96.0.0/12');
  });
});

describe('a range', () => {
  it.each([
    ['0.0.0.0/0', '255.255.255.255', true],
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.20.128.0/17', '10.20.127.255', false],
    ['10.20.128.0/17', '10.20.128.0', true],
    ['192.0.2.7/32', '192.0.2.7', true],
    ['192.0.2.7/32', '192.0.2.6', false],
    ['::/0', 'fd00::1', true],
    ['::/0', '10.0.0.1', false],
    ['0.0.0.0/0', 'fd00::1', false],
    ['2001:db8:8000::/33', '2001:db8:7fff::1', false],
    ['2001:db8:8000::/33', '2001:db8:ffff::1', true],
  ])('%s and %s: %s', (text, address, within) => {
    expect(isWithin(address, ranges(text)[0] as Cidr)).toBe(within);
  });

  it.each([
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.1/8',
    '010.0.0.0/8',
    '10.0/16',
    'fd00::/129',
    'fd00::1/64',
    'fe80::%1/64',
    '/8',
    'example.com/8',
  ])('is not %j', (text) => {
    expect(parseCidr(text)).toBeNull();
  });
});
