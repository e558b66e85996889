import { describe, expect, it } from '@jest/globals';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../../core/names.ts';
import {
  aService,
  aSlice,
  aWorkload,
  OWNER,
  plan,
  sliceOf,
  workloads,
} from './support/builders.ts';
import { addresses, counts, ids, onlySlice, onlyWrite } from './support/reading.ts';

const [one, two] = [aWorkload('vm-1'), aWorkload('vm-2', { ips: ['10.20.0.2'] })];

describe('which Services get slices', () => {
  it.each([
    ['that does not exist', null, 'does not exist'],
    ['of type ExternalName', aService({ type: 'ExternalName' }), 'ExternalName'],
    ['without a selector', aService({ selector: {} }), 'no selector'],
    [
      'of type ExternalName without a selector',
      aService({ type: 'ExternalName', selector: {} }),
      'ExternalName',
    ],
  ])('deletes the slices of a Service %s, and says why (B1)', (_, service, why) => {
    const slice = sliceOf('web-1', [one]);
    const result = plan({ service, workloads: [one], slices: [slice] });
    expect(onlyWrite(result)).toMatchObject({ verb: 'delete', previous: slice, after: [] });
    expect(result.noSlicesBecause).toContain(why);
    expect(result).toMatchObject({ slices: 0, endpoints: 0, ready: 0, unchanged: [] });
    expect(result.dropped).toEqual([{ name: 'vm-1', uid: 'uid-vm-1' }]);
  });

  it('plans nothing for a Service that gets no slices and has none (B1)', () => {
    expect(plan({ service: null, workloads: [one] }).writes).toEqual([]);
  });

  it('deletes slices of any owner once the Service is gone (B1)', () => {
    const stray = sliceOf('web-1', [one], { owners: [{ ...OWNER, uid: 'older' }] });
    expect(ids(plan({ service: null, slices: [stray] }))).toEqual(['delete/web-1']);
  });

  it('never touches slices of other managers or of other Services (B1, B4)', () => {
    const foreign = sliceOf('web-abc', [one], {
      labels: {
        [LABEL_SERVICE_NAME]: 'web',
        [LABEL_MANAGED_BY]: 'endpointslice-controller.k8s.io',
      },
    });
    const other = sliceOf('webshop-1', [one], {
      labels: { ...aSlice('x').labels, [LABEL_SERVICE_NAME]: 'webshop' },
    });
    expect(plan({ service: null, slices: [foreign, other] }).writes).toEqual([]);
    expect(counts(plan({ slices: [foreign, other] }))).toEqual({ create: 0, update: 0, delete: 0 });
  });

  it('creates nothing for a Service that is being deleted (B2)', () => {
    const result = plan({ service: aService({ deleting: true }), workloads: workloads(3) });
    expect(result.writes).toEqual([]);
    expect(result).toMatchObject({ endpoints: 0, slices: 0, noSlicesBecause: null });
  });

  it('goes on updating and deleting while the Service is being deleted (B2)', () => {
    const slices = [
      sliceOf('web-1', [one]),
      sliceOf('web-2', [two], { ports: [{ name: 'old', port: 1, protocol: 'TCP' }] }),
    ];
    const service = aService({ deleting: true, labels: { team: 'blue' } });
    expect(ids(plan({ service, workloads: [one], slices }))).toEqual([
      'update/web-1',
      'delete/web-2',
    ]);
  });

  it('still recycles a create into an update while the Service is being deleted (B2, F6)', () => {
    const slices = [
      sliceOf('web-1', [one], { ports: [{ name: 'http', port: 1, protocol: 'TCP' }] }),
    ];
    const result = plan({ service: aService({ deleting: true }), workloads: [one], slices });
    expect(onlyWrite(result)).toMatchObject({ verb: 'update', id: 'update/web-1' });
  });

  it('takes the workloads that carry every pair of the selector, and no others (B3)', () => {
    const service = aService({ selector: { app: 'billing', live: 'yes' } });
    const candidates = [
      aWorkload('both', { labels: { app: 'billing', live: 'yes', extra: 'x' }, ips: ['10.0.0.1'] }),
      aWorkload('stopped', { labels: { app: 'billing', live: 'no' }, ips: ['10.0.0.2'] }),
      aWorkload('half', { labels: { live: 'yes' }, ips: ['10.0.0.3'] }),
      aWorkload('bare', { labels: {}, ips: ['10.0.0.4'] }),
    ];
    const result = plan({ service, workloads: candidates });
    expect(addresses(result)).toEqual(['10.0.0.1']);
    expect(result.leftOut).toEqual([]);
  });

  it('deletes the slice of a workload that was relabelled away (B3, F5)', () => {
    const gone = { ...one, labels: { app: 'other' } };
    const result = plan({ workloads: [gone], slices: [sliceOf('web-1', [one])] });
    expect(ids(result)).toEqual(['delete/web-1']);
    expect(result.dropped).toEqual([{ name: 'vm-1', uid: 'uid-vm-1' }]);
  });

  it('does not take an inherited property for a label (B3)', () => {
    const service = aService({ selector: { constructor: 'x' } });
    expect(plan({ service, workloads: [one] }).writes).toEqual([]);
  });

  it('ignores a slice that is being deleted, and its name is not free (B4, G4)', () => {
    const first = onlySlice(plan({ workloads: [one] })).name;
    const dying = sliceOf(first, [one], { deleting: true });
    const again = onlyWrite(plan({ workloads: [one], slices: [dying] }));
    expect(again.verb).toBe('create');
    expect(again.id).not.toBe(`create/${first}`);
  });

  it('looks slices up by two labels alone: a new Service label relabels in place (B4, G1)', () => {
    const service = aService({ labels: { team: 'blue' } });
    const result = plan({ service, workloads: [one], slices: [sliceOf('web-1', [one])] });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(onlySlice(result).labels).toMatchObject({ team: 'blue' });
  });

  it('replaces slices of an earlier Service of the same name, and never reuses them (B5)', () => {
    const old = sliceOf('web-1', [one], { owners: [{ ...OWNER, uid: 'older' }] });
    const { writes } = plan({ workloads: [one], slices: [old] });
    expect(writes.map(({ verb }) => verb)).toEqual(['create', 'delete']);
    expect(writes[1]).toMatchObject({ previous: old, after: [writes[0]?.id] });
  });

  it.each([
    ['has no owner', []],
    ['is owned by another kind with that UID', [{ ...OWNER, kind: 'Deployment' }]],
    ['is owned by another API version with that UID', [{ ...OWNER, apiVersion: 'v2' }]],
  ])('replaces a slice that %s (B5)', (_, owners) => {
    const result = plan({ workloads: [one], slices: [sliceOf('web-1', [one], { owners })] });
    expect(counts(result)).toEqual({ create: 1, update: 0, delete: 1 });
  });

  it.each([
    ['is no controller', { controller: false }],
    ['does not block', { blockOwnerDeletion: false }],
    ['has another name', { name: 'other' }],
  ])('corrects the owner in place where it %s, but not while it goes (B5, G3)', (_, over) => {
    const slices = [sliceOf('web-1', [one], { owners: [{ ...OWNER, ...over }] })];
    expect(ids(plan({ workloads: [one], slices }))).toEqual(['update/web-1']);
    const service = aService({ deleting: true });
    expect(plan({ service, workloads: [one], slices }).writes).toEqual([]);
  });

  it('keeps a slice that has the Service among several owners (B5)', () => {
    const owners = [{ ...OWNER, uid: 'older' }, OWNER];
    expect(
      plan({ workloads: [one], slices: [sliceOf('web-1', [one], { owners })] }).writes,
    ).toEqual([]);
  });
});
