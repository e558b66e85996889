import { describe, expect, it } from '@jest/globals';
import {
  DEFAULT_MANAGER,
  LABEL_HEADLESS,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_NAME,
} from '../../../core/names.ts';
import { isDnsSubdomain } from '../../../core/object-key.ts';
import { aPort, aService, aWorkload, plan, sliceOf, workloads } from './support/builders.ts';
import { counts, ids, onlySlice, written } from './support/reading.ts';

const one = aWorkload('vm-1');
const reserved = { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: DEFAULT_MANAGER };

describe('the labels of a slice', () => {
  it("are the Service's own and the reserved ones (G1)", () => {
    const service = aService({ labels: { team: 'blue', tier: '' } });
    expect(onlySlice(plan({ service, workloads: [one] })).labels).toEqual({
      team: 'blue',
      tier: '',
      ...reserved,
    });
  });

  it('never take reserved labels over from the Service (G1)', () => {
    const labels = {
      [LABEL_SERVICE_NAME]: 'other',
      [LABEL_MANAGED_BY]: 'someone',
      [LABEL_HEADLESS]: '',
    };
    expect(onlySlice(plan({ service: aService({ labels }), workloads: [one] })).labels).toEqual(
      reserved,
    );
  });

  it('cost no write because of reserved labels on the Service (G1)', () => {
    const service = aService({ labels: { [LABEL_HEADLESS]: '', [LABEL_SERVICE_NAME]: 'other' } });
    expect(plan({ service, workloads: [one], slices: [sliceOf('web-1', [one])] }).writes).toEqual(
      [],
    );
  });

  it.each([
    ['None', true],
    ['', true],
    ['10.96.0.10', false],
  ])('with clusterIP %j say headless: %s (G1)', (clusterIP, headless) => {
    const { labels } = onlySlice(plan({ service: aService({ clusterIP }), workloads: [one] }));
    expect(labels[LABEL_HEADLESS]).toBe(headless ? '' : undefined);
  });

  it.each([
    ['drops a label that the Service lost', { gone: 'x' }, {}],
    ['drops a label that somebody put there', { ours: '1', foreign: 'x' }, { ours: '1' }],
    ['adds a label that the Service gained', {}, { gained: 'x' }],
    ['corrects a value', { team: 'red' }, { team: 'blue' }],
    ['notices a swap of one key for another', { a: 'x' }, { b: 'x' }],
    ['drops a headless label that is no longer due', { [LABEL_HEADLESS]: '' }, {}],
  ])('%s (G1)', (_, stored, labels) => {
    const slices = [sliceOf('web-1', [one], { labels: { ...reserved, ...stored } as never })];
    const result = plan({
      service: aService({ labels: labels as never }),
      workloads: [one],
      slices,
    });
    expect(ids(result)).toEqual(['update/web-1']);
    expect(onlySlice(result).labels).toEqual({ ...reserved, ...labels });
  });

  it('corrects a headless label that has a value (G1)', () => {
    const labels = { ...reserved, [LABEL_HEADLESS]: 'true' };
    const result = plan({
      service: aService({ clusterIP: '' }),
      workloads: [one],
      slices: [sliceOf('web-1', [one], { labels })],
    });
    expect(ids(result)).toEqual(['update/web-1']);
  });

  it('relabels every slice of the Service (G1)', () => {
    const all = workloads(3);
    const slices = all.map((each, index) => sliceOf(`web-${index}`, [each]));
    const result = plan({ service: aService({ labels: { a: 'b' } }), workloads: all, slices });
    expect(counts(result)).toEqual({ create: 0, update: 3, delete: 0 });
  });
});

describe('annotations', () => {
  it('that others put on a slice cause no write, and are carried by one (G2)', () => {
    const slice = sliceOf('web-1', [one], {
      annotations: { 'example.com/a': 'b' },
      finalizers: ['f'],
    });
    expect(plan({ workloads: [one], slices: [slice] }).writes).toEqual([]);
    const result = plan({ workloads: [{ ...one, ready: false }], slices: [slice] });
    expect(result.writes).toMatchObject([{ previous: slice }]);
  });
});

describe('the name of a new slice', () => {
  const nameOf = (parts: Parameters<typeof plan>[0]) =>
    onlySlice(plan({ workloads: [one], ...parts })).name;

  it('is <service>-ew-<hash>, the same every time (G4)', () => {
    expect(nameOf({})).toMatch(/^web-ew-[0-9a-f]{10}$/);
    expect(nameOf({})).toBe(nameOf({ workloads: workloads(7) }));
    expect(nameOf({})).toBe('web-ew-d4fcbf30b4');
  });

  it.each([
    ["the Service's UID", { service: aService({ uid: 'another' }) }],
    [
      'the family',
      {
        service: aService({ ipFamilies: ['IPv6'] }),
        workloads: [aWorkload('v', { ips: ['fd00::1'] })],
      },
    ],
    ['the ports', { service: aService({ ports: [aPort({ appProtocol: 'http' })] }) }],
  ] as const)('hangs on %s (G4)', (_, parts) => {
    expect(nameOf(parts)).not.toBe(nameOf({}));
  });

  it('has the lowest ordinal whose name is free (G4)', () => {
    const three = written(plan({ workloads: workloads(250) })).map(({ name }) => name);
    expect(new Set(three).size).toBe(3);
    const first = nameOf({});
    expect(three).toContain(first);
    const second = nameOf({ takenNames: [first] });
    const third = nameOf({ takenNames: [second, first] });
    expect(new Set(three)).toEqual(new Set([first, second, third]));
    expect(nameOf({ takenNames: [second] })).toBe(first);
  });

  it.each([
    ['that another manager has', { labels: { ...reserved, [LABEL_MANAGED_BY]: 'someone' } }],
    ['that another Service has', { labels: { ...reserved, [LABEL_SERVICE_NAME]: 'shop' } }],
    ['that lost its labels', { labels: {} }],
    ['that is being deleted', { deleting: true }],
    ['of an earlier Service', { owners: [] }],
  ])('is not that of a slice %s (G4)', (_, overrides) => {
    const taken = nameOf({});
    const { writes } = plan({ workloads: [one], slices: [sliceOf(taken, [one], overrides)] });
    expect(writes[0]?.verb).toBe('create');
    expect(writes[0]?.id).not.toBe(`create/${taken}`);
  });

  it('is not that of a recycled slice which holds another group now (G4)', () => {
    const first = nameOf({});
    const q = { name: 'http', port: 9090, protocol: 'TCP' as const };
    const slices = [sliceOf(first, [one], { ports: [q] })];
    const elsewhere = { ...one, ports: [q] };
    const result = plan({ workloads: [elsewhere, aWorkload('vm-2')], slices });
    expect(result.unchanged).toEqual([first]);
    expect(ids(result)).toHaveLength(1);
    expect(ids(result)).not.toEqual([`create/${first}`]);
  });

  it.each(['a'.repeat(253), `${'a'.repeat(238)}.b`, 'a-'.repeat(120) + 'a', 'x'])(
    'is a DNS subdomain of at most 253 characters, whatever the Service is called (G4)',
    (name) => {
      const key = { namespace: 'default', name };
      const slice = onlySlice(plan({ key, service: aService({ name }), workloads: [one] }));
      expect(isDnsSubdomain(slice.name)).toBe(true);
      expect(slice.name).toMatch(/-ew-[0-9a-f]{10}$/);
    },
  );
});
