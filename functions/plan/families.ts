import type { IpFamily, ServiceRecord } from '../../core/records.ts';

const FAMILIES: readonly IpFamily[] = ['IPv4', 'IPv6'];

/**
 * The families a Service wants slices of, IPv4 first whatever the Service's own order: one plan is
 * made for each. A Service that an old API server stored without `ipFamilies` gets the family of
 * its clusterIP, and both where that has none either, as in k8s.io/endpointslice.
 */
export function wantedFamilies(service: ServiceRecord): readonly IpFamily[] {
  const stated = FAMILIES.filter((family) => service.ipFamilies.includes(family));
  if (stated.length > 0) return stated;
  if (service.clusterIP === '' || service.clusterIP === 'None') return FAMILIES;
  return service.clusterIP.includes(':') ? ['IPv6'] : ['IPv4'];
}
