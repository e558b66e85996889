import { describe, expect, it } from '@jest/globals';
import { LABEL_ZONE } from '../../../core/names.ts';
import {
  aService,
  anEndpoint,
  aWorkload,
  plan,
  sliceOf,
  workloads,
  notReady,
  slicesOf,
} from './support/builders.ts';
import { addresses, endpoints, ids, onlyEndpoint, onlySlice, sizes } from './support/reading.ts';

const zoned = (name: string) => aWorkload(name, { labels: { app: 'web', [LABEL_ZONE]: 'east-1' } });

describe('the identity of an endpoint', () => {
  it('lets two workloads share an address: two endpoints (D9)', () => {
    const result = plan({ workloads: [aWorkload('vm-1'), aWorkload('vm-2')] });
    expect(endpoints(result).map(({ targetRef }) => targetRef?.name)).toEqual(['vm-1', 'vm-2']);
  });

  it('drops only the one of two that is gone (D9)', () => {
    const [one, two] = [aWorkload('vm-1'), aWorkload('vm-2')];
    const result = plan({ workloads: [two], slices: [sliceOf('web-1', [one, two])] });
    expect(onlyEndpoint(result).targetRef?.name).toBe('vm-2');
    expect(result.dropped).toEqual([{ name: 'vm-1', uid: 'uid-vm-1' }]);
  });

  it('replaces a workload by another one at the same address (D9)', () => {
    const result = plan({
      workloads: [aWorkload('vm-q')],
      slices: [sliceOf('web-1', [aWorkload('vm-p')])],
    });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(onlyEndpoint(result).targetRef?.name).toBe('vm-q');
  });

  it('makes an address that changed one endpoint, not two (D9)', () => {
    const [before, now] = [
      aWorkload('vm-c', { ips: ['10.20.0.32'] }),
      aWorkload('vm-c', { ips: ['10.20.0.33'] }),
    ];
    const result = plan({ workloads: [now], slices: [sliceOf('web-1', [before])] });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(addresses(result)).toEqual(['10.20.0.33']);
    expect(result.dropped).toEqual([]);
  });

  it('has addresses in it: a changed one is a new endpoint that is placed anew (D9, F3)', () => {
    const all = notReady(workloads(70), 0);
    const now = all.map((each, at) => (at === 60 ? { ...each, ips: ['10.99.0.1'] } : each));
    expect(sizes(plan({ workloads: now, slices: slicesOf(50, 20) }))).toEqual([51, 19]);
  });

  it('does not hang on the order of addresses, but the order is put right (D9, F2)', () => {
    const now = aWorkload('vm-1', { ips: ['10.0.0.2', '10.0.0.1'] });
    const slices = [sliceOf('web-1', [{ ...now, ips: ['10.0.0.1', '10.0.0.2'] }, ...workloads(3)])];
    const result = plan({ workloads: [now, ...workloads(3)], slices });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(endpoints(result).at(-1)?.addresses).toEqual(['10.0.0.2', '10.0.0.1']);
  });

  it('is not fooled by a reference to another namespace (D9)', () => {
    const one = aWorkload('vm-1');
    const stray = anEndpoint(one, {
      targetRef: { kind: 'ExternalWorkload', namespace: 'other', name: 'vm-1', uid: 'uid-vm-1' },
    });
    const result = plan({
      workloads: [one],
      slices: [{ ...sliceOf('web-1', []), endpoints: [stray] }],
    });
    expect(onlyEndpoint(result)).toEqual(anEndpoint(one));
  });

  it('drops endpoints that somebody put into our slice (F2)', () => {
    const { targetRef: _, ...stray } = anEndpoint(aWorkload('x', { ips: ['10.9.9.9'] }));
    const slice = { ...sliceOf('web-1', []), endpoints: [anEndpoint(aWorkload('vm-1')), stray] };
    const result = plan({ workloads: [aWorkload('vm-1')], slices: [slice] });
    expect(addresses(result)).toEqual(['10.20.0.1']);
    expect(result.dropped).toEqual([]);
  });

  it('rebuilds every kept endpoint whole when one of them changes (F2)', () => {
    const service = aService({ clusterIP: 'None', zoneHints: true });
    const members = ['a', 'b', 'c'].map((name) => zoned(name));
    const first = onlySlice(plan({ service, workloads: members }));
    const slices = [{ ...sliceOf('web-1', []), ...first, name: 'web-1' }];
    const now = members.map((member, index) => ({ ...member, ready: index !== 1 }));
    const result = plan({ service, workloads: now, slices });
    expect(ids(result)).toEqual(['update/web-1']);
    expect([endpoints(result)[0], endpoints(result)[2]]).toEqual([
      first.endpoints[0],
      first.endpoints[2],
    ]);
  });
});
