import { describe, expect, it } from '@jest/globals';
import { LABEL_ZONE } from '../../../core/names.ts';
import { aService, anEndpoint, aWorkload, plan, sliceOf } from './support/builders.ts';
import { addresses, endpoints, ids, onlyEndpoint, onlySlice, reasons } from './support/reading.ts';

const zoned = (name: string, zone = 'east-1', more = {}) =>
  aWorkload(name, { labels: { app: 'web', [LABEL_ZONE]: zone }, ...more });

describe('the addresses of an endpoint', () => {
  it('are canonical, of one family, in the order of the workload, each once (D1)', () => {
    const service = aService({ ipFamilies: ['IPv6'] });
    const ips = ['FD00:20:0::00B1', '10.20.0.90', 'fd00:20::a1', 'fd00:20::b1'];
    const endpoint = onlyEndpoint(plan({ service, workloads: [aWorkload('vm-1', { ips })] }));
    expect(endpoint.addresses).toEqual(['fd00:20::b1', 'fd00:20::a1']);
  });

  it('keeps two addresses of one family in one endpoint (D1)', () => {
    const result = plan({ workloads: [aWorkload('vm-1', { ips: ['10.20.0.91', '10.20.0.90'] })] });
    expect(onlyEndpoint(result).addresses).toEqual(['10.20.0.91', '10.20.0.90']);
  });

  it('leaves one refused address out alone and publishes everything else (D1)', () => {
    const result = plan({
      workloads: [
        aWorkload('vm-l', { ips: ['169.254.10.5'] }),
        aWorkload('vm-m', { ips: ['10.20.0.100', '127.0.0.1'] }),
        aWorkload('vm-n', { ips: ['not-an-ip', '010.0.0.1', '10.20.0.101'] }),
      ],
    });
    expect(addresses(result)).toEqual(['10.20.0.100', '10.20.0.101']);
    expect(reasons(result)).toEqual([
      'vm-l: address-refused',
      'vm-m: address-refused',
      'vm-n: address-refused',
    ]);
    expect(result.leftOut.every(({ warn }) => warn)).toBe(true);
    expect(result.leftOut[0]?.detail).toContain('"169.254.10.5" is a link-local address');
    expect(result.leftOut[2]?.detail).toContain('"not-an-ip" is not an IP address');
    expect(result.leftOut[2]?.detail).toContain('"010.0.0.1" has leading zeros');
  });

  it('lists a refused address once for a dual-stack Service (D1)', () => {
    const service = aService({ ipFamilies: ['IPv4', 'IPv6'] });
    const ips = ['nonsense', 'nonsense', '10.0.0.1', 'fd00::1'];
    const result = plan({ service, workloads: [aWorkload('vm-1', { ips })] });
    expect(reasons(result)).toEqual(['vm-1: address-refused']);
    expect(result.leftOut[0]?.detail.match(/nonsense/g)).toHaveLength(1);
  });

  it('says nothing of a refused address of a family that nobody wants (D1)', () => {
    const result = plan({ workloads: [aWorkload('vm-1', { ips: ['fe80::1', '10.20.0.1'] })] });
    expect(result.leftOut).toEqual([]);
  });

  it('cuts a long address short in its sentence (D1)', () => {
    const result = plan({ workloads: [aWorkload('vm-1', { ips: ['x'.repeat(5000)] })] });
    expect(result.leftOut[0]?.detail.length).toBeLessThan(250);
  });

  it('takes at most the hundred addresses that validation allows (D1)', () => {
    const ips = Array.from({ length: 102 }, (_, index) => `10.0.0.${index}`);
    const result = plan({ workloads: [aWorkload('vm-1', { ips })] });
    expect(onlyEndpoint(result).addresses).toHaveLength(100);
    expect(result.leftOut[0]?.detail).toContain('"10.0.0.101" comes after 100 others');
  });

  it('makes no endpoint and no empty port group of a workload without addresses (D2)', () => {
    const result = plan({ workloads: [aWorkload('vm-1', { ips: [] })] });
    expect(result).toMatchObject({ writes: [], slices: 0, endpoints: 0 });
    expect(reasons(result)).toEqual(['vm-1: no-address']);
  });

  it('publishes what there is when a dual-stack Service meets one family (D2)', () => {
    const service = aService({ ipFamilies: ['IPv4', 'IPv6'] });
    const result = plan({ service, workloads: [aWorkload('vm-1')] });
    expect(onlySlice(result).addressType).toBe('IPv4');
    expect(result.leftOut).toEqual([]);
  });
});

describe('the conditions of an endpoint', () => {
  it.each([
    [true, false, false, { ready: true, serving: true, terminating: false }],
    [false, false, false, { ready: false, serving: false, terminating: false }],
    [null, false, false, { ready: false, serving: false, terminating: false }],
    [true, true, false, { ready: false, serving: true, terminating: true }],
    [false, true, false, { ready: false, serving: false, terminating: true }],
    [false, false, true, { ready: true, serving: false, terminating: false }],
    [true, true, true, { ready: true, serving: true, terminating: true }],
    [null, true, true, { ready: true, serving: false, terminating: true }],
  ])(
    'Ready %s, deleting %s, publishNotReadyAddresses %s come to %j (D3, D4)',
    (ready, deleting, publishNotReady, conditions) => {
      const result = plan({
        service: aService({ publishNotReady }),
        workloads: [aWorkload('vm-1', { ready, deleting })],
      });
      expect(onlyEndpoint(result).conditions).toEqual(conditions);
      expect(result).toMatchObject({ endpoints: 1, ready: conditions.ready ? 1 : 0 });
    },
  );

  it('lets an option say that a workload without a status is ready (D3)', () => {
    const states = [null, false].map((ready, index) => aWorkload(`vm-${index}`, { ready }));
    const result = plan({ workloads: states, options: { workloadsWithoutStatus: 'ready' } });
    expect(endpoints(result).map(({ conditions }) => conditions.ready)).toEqual([true, false]);
  });

  it('updates the same slice when a workload stops being ready, and back (D3)', () => {
    const one = aWorkload('vm-1');
    const result = plan({
      workloads: [{ ...one, ready: false }],
      slices: [sliceOf('web-1', [one])],
    });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(onlyEndpoint(result).conditions).toMatchObject({ ready: false, serving: false });
  });

  it.each(['ready', 'serving', 'terminating'] as const)(
    'writes %s out where a slice lacks it: readers take a missing one for granted (D4)',
    (condition) => {
      const one = aWorkload('vm-1');
      const { [condition]: _, ...conditions } = anEndpoint(one).conditions;
      const slice = { ...sliceOf('web-1', []), endpoints: [anEndpoint(one, { conditions })] };
      expect(ids(plan({ workloads: [one], slices: [slice] }))).toEqual(['update/web-1']);
    },
  );
});

describe('what an endpoint says of its workload', () => {
  it('refers to the ExternalWorkload, without a resourceVersion (D5)', () => {
    expect(onlyEndpoint(plan({ workloads: [aWorkload('vm-1')] })).targetRef).toEqual({
      kind: 'ExternalWorkload',
      namespace: 'default',
      name: 'vm-1',
      uid: 'uid-vm-1',
    });
  });

  it('updates in place when a workload was recreated with another UID (D5, F2)', () => {
    const one = aWorkload('vm-1');
    const result = plan({
      workloads: [{ ...one, uid: 'newer' }],
      slices: [sliceOf('web-1', [one])],
    });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(result.dropped).toEqual([]);
  });

  it('has the zone of a non-empty zone label, and no zone otherwise (D6)', () => {
    const result = plan({ workloads: [zoned('vm-1'), zoned('vm-2', ''), aWorkload('vm-3')] });
    expect(endpoints(result).map((endpoint) => endpoint.zone)).toEqual([
      'east-1',
      undefined,
      undefined,
    ]);
    expect(endpoints(result)[1]).not.toHaveProperty('zone');
  });

  it('updates in place when the zone alone changes (D6)', () => {
    const slices = [
      { ...sliceOf('web-1', []), endpoints: [anEndpoint(zoned('vm-1'), { zone: 'a' })] },
    ];
    const result = plan({ workloads: [zoned('vm-1', 'b')], slices });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(onlyEndpoint(result).zone).toBe('b');
  });

  it.each([
    ['None', 'vm-1', 'vm-1'],
    ['None', 'a'.repeat(63), 'a'.repeat(63)],
    ['10.96.0.10', 'vm-1', undefined],
    ['', 'vm-1', undefined],
  ])(
    'of a Service with clusterIP %j named %s has hostname %s (D7)',
    (clusterIP, name, hostname) => {
      const result = plan({ service: aService({ clusterIP }), workloads: [aWorkload(name)] });
      expect(onlyEndpoint(result).hostname).toBe(hostname);
      expect(result.leftOut).toEqual([]);
    },
  );

  it.each(['vm.example.com', 'a'.repeat(64)])(
    'has no hostname where the name %s is no DNS label, and its author is told (D7)',
    (name) => {
      const result = plan({
        service: aService({ clusterIP: 'None' }),
        workloads: [aWorkload(name)],
      });
      expect(onlyEndpoint(result)).not.toHaveProperty('hostname');
      expect(result.leftOut).toMatchObject([{ reason: 'hostname-refused', warn: true }]);
    },
  );

  it('says nothing of hostnames of a Service that is not headless (D7)', () => {
    expect(plan({ workloads: [aWorkload('vm.example.com')] }).leftOut).toEqual([]);
  });
});

describe('zone hints', () => {
  it('go to each ready endpoint that has a zone, for its own zone (D8)', () => {
    const states = [zoned('vm-1'), zoned('vm-2', 'east-2', { ready: false }), aWorkload('vm-3')];
    const result = plan({ service: aService({ zoneHints: true }), workloads: states });
    expect(endpoints(result).map(({ hints }) => hints)).toEqual([
      { forZones: [{ name: 'east-1' }] },
      undefined,
      undefined,
    ]);
  });

  it('go to endpoints that are ready because the Service says so (D8, D4)', () => {
    const service = aService({ zoneHints: true, publishNotReady: true });
    const result = plan({ service, workloads: [zoned('vm-1', 'east-1', { ready: false })] });
    expect(onlyEndpoint(result).hints).toEqual({ forZones: [{ name: 'east-1' }] });
  });

  it.each([
    ['are added to a slice that lacks them', true, undefined],
    ['are removed once the Service wants none', false, { forZones: [{ name: 'east-1' }] }],
    ['are put right when they name another zone', true, { forZones: [{ name: 'east-9' }] }],
    [
      'are put right when there is one too many',
      true,
      { forZones: [{ name: 'east-1' }, { name: 'east-2' }] },
    ],
  ])('%s (D8, F2)', (_, zoneHints, hints) => {
    const one = zoned('vm-1');
    const existing = anEndpoint(one, { zone: 'east-1', ...(hints && { hints }) });
    const slices = [{ ...sliceOf('web-1', []), endpoints: [existing] }];
    const result = plan({ service: aService({ zoneHints }), workloads: [one], slices });
    expect(ids(result)).toEqual(['update/web-1']);
    expect('hints' in onlyEndpoint(result)).toBe(zoneHints);
  });

  it('cost no write when there are none to remove (D8, F2)', () => {
    const slices = [
      {
        ...sliceOf('web-1', []),
        endpoints: [anEndpoint(zoned('vm-1'), { zone: 'east-1', hints: {} })],
      },
    ];
    expect(plan({ workloads: [zoned('vm-1')], slices }).writes).toEqual([]);
  });
});
