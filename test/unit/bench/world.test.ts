import { expect, it } from '@jest/globals';
import { addressOf, serviceKey, type World } from '../../../bench/world.ts';

const world = (services: number, per: number): World => ({
  prefix: 'bench-1',
  services,
  per,
  namespaces: 3,
  backing: 'workloads',
  withStatus: true,
});

it('gives each of 100,000 workloads an address of its own in 100.64.0.0/10', () => {
  const large = world(20_000, 5);
  const addresses = new Set<string>();
  for (let service = 0; service < large.services; service += 1) {
    for (let nth = 0; nth < large.per; nth += 1) addresses.add(addressOf(large, service, nth));
  }
  expect(addresses.size).toBe(100_000);
  expect(addressOf(large, 0, 0)).toBe('100.64.0.0');
  expect(addressOf(large, 19_999, 4)).toBe('100.65.134.159');
});

it('spreads Services over the namespaces', () => {
  const keys = [0, 1, 2, 3].map((service) => serviceKey(world(4, 1), service));
  expect(keys).toEqual([
    'bench-1-0/svc-0',
    'bench-1-1/svc-1',
    'bench-1-2/svc-2',
    'bench-1-0/svc-3',
  ]);
});
