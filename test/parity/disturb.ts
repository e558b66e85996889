import { LABEL_MANAGED_BY } from '../../core/names.ts';
import type { EndpointRecord, SliceRecord } from '../../core/records.ts';
import type { Random } from './random.ts';

type Disturbance = (random: Random, slices: readonly SliceRecord[]) => readonly SliceRecord[];

/**
 * What other hands do to slices between two passes. The result is sorted by name, since upstream
 * takes slices in the order that they come and Tether by name.
 */
export function disturbSlices(
  random: Random,
  slices: readonly SliceRecord[],
): readonly SliceRecord[] {
  let next = slices;
  const times = random.pick([0, 0, 0, 1, 1, 2, 3]);
  for (let i = 0; i < times; i += 1) next = random.pick(DISTURBANCES)(random, next);
  return [...next].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function one(
  change: (
    random: Random,
    slice: SliceRecord,
    all: readonly SliceRecord[],
  ) => readonly SliceRecord[],
): Disturbance {
  return (random, slices) => {
    if (slices.length === 0) return slices;
    const chosen = random.pick(slices);
    return slices.flatMap((slice) => (slice === chosen ? change(random, slice, slices) : [slice]));
  };
}

function endpoints(
  change: (random: Random, endpoint: EndpointRecord) => EndpointRecord,
): Disturbance {
  return one((random, slice) => [
    {
      ...slice,
      endpoints: slice.endpoints.map((e) => (random.chance(0.5) ? change(random, e) : e)),
    },
  ]);
}

const STRANGER: EndpointRecord = {
  addresses: ['10.99.0.1'],
  conditions: { ready: true },
  targetRef: { kind: 'ExternalWorkload', namespace: 'default', name: 'nobody', uid: 'nobody' },
};

const DISTURBANCES: readonly Disturbance[] = [
  one(() => []),
  one((_random, slice) => [{ ...slice, deleting: true }]),
  one((_random, slice) => [{ ...slice, labels: { ...slice.labels, stray: 'x' } }]),
  one((random, slice) => [
    { ...slice, labels: without(slice.labels, random.pick(['team', 'tier', 'app'])) },
  ]),
  one((_random, slice) => [
    { ...slice, labels: { ...slice.labels, [LABEL_MANAGED_BY]: 'somebody' } },
  ]),
  one((_random, slice) => [{ ...slice, owners: slice.owners.map((o) => ({ ...o, uid: 'gone' })) }]),
  one((_random, slice) => [{ ...slice, owners: [] }]),
  one((random, slice) => [{ ...slice, endpoints: random.some(slice.endpoints, 0.6) }]),
  one((_random, slice) => [{ ...slice, endpoints: [...slice.endpoints, STRANGER] }]),
  one((_random, slice) => [{ ...slice, endpoints: [] }]),
  one((_random, slice) => [
    { ...slice, ports: slice.ports.map((p) => ({ ...p, name: `${p.name}x` })) },
  ]),
  one((_random, slice, all) => [
    slice,
    {
      ...slice,
      ...freeName(slice.name, all),
      addressType: 'FQDN',
      endpoints: [{ addresses: ['a.example'], conditions: {} }],
    },
  ]),
  one(split),
  one(split),
  one(split),
  one((random, slice, all) => [
    { ...slice, endpoints: [...slice.endpoints, ...random.some(random.pick(all).endpoints, 0.3)] },
  ]),
  endpoints((_random, e) => ({ ...e, conditions: { ...e.conditions, ready: false } })),
  endpoints((_random, e) => ({ ...e, conditions: {} })),
  endpoints((_random, e) => ({ ...e, targetRef: { ...e.targetRef, uid: 'old' } })),
  endpoints((_random, e) => ({ ...e, addresses: ['10.98.0.1'] })),
  endpoints((random, e) => ({
    ...withoutHints(e),
    ...(random.chance(0.5) ? { hints: { forZones: [{ name: 'z' }] } } : {}),
  })),
];

/** In two, as other packing than ours would leave it. */
function split(
  random: Random,
  slice: SliceRecord,
  all: readonly SliceRecord[],
): readonly SliceRecord[] {
  const at = random.int(1, Math.max(1, slice.endpoints.length - 1));
  const rest = slice.endpoints.slice(at);
  if (rest.length === 0) return [slice];
  const other = { ...slice, ...freeName(slice.name, all), endpoints: rest };
  return [{ ...slice, endpoints: slice.endpoints.slice(0, at) }, other];
}

function freeName(name: string, all: readonly SliceRecord[]): { name: string; uid: string } {
  const taken = new Set(all.map((slice) => slice.name));
  let free = name;
  while (taken.has(free)) free += 'x';
  return { name: free, uid: `uid-of-${free}` };
}

function without(labels: Readonly<Record<string, string>>, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => name !== key));
}

function withoutHints(endpoint: EndpointRecord): EndpointRecord {
  const { hints: _hints, ...rest } = endpoint;
  return rest;
}
