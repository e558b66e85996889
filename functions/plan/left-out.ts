import type { LeftOut, LeftOutReason } from '../../core/outcome.ts';
import { quote } from '../../core/quote.ts';
import type { IpFamily, ServiceRecord, WorkloadRecord } from '../../core/records.ts';
import type { RefusedAddress } from './addresses.ts';
import type { AmbiguousPort, WantedPort } from './ports.ts';

/**
 * The sentences that say why a workload, or a part of it, is in no slice. They become Events on the
 * workload, whose names are hashes of the sentence: so they name the Service only where it matters,
 * and equal facts about one workload make one Event however many Services select it.
 */
function leftOut(
  workload: WorkloadRecord,
  reason: LeftOutReason,
  detail: string,
  warn: boolean,
): LeftOut {
  return { workload: workload.name, uid: workload.uid, reason, detail, warn };
}

export function selectorMismatch(
  workload: WorkloadRecord,
  service: ServiceRecord,
  label: string,
): LeftOut {
  const has = workload.labels[label];
  const found =
    has === undefined ? 'the workload has no such label' : `the workload has ${quote(has)}`;
  const wanted = quote(service.selector[label] ?? '');
  const detail = `Service ${service.name} selects label ${label}=${wanted} and ${found}.`;
  return leftOut(workload, 'selector-mismatch', detail, false);
}

export function noAddress(workload: WorkloadRecord): LeftOut {
  return leftOut(workload, 'no-address', 'It has no spec.workloadIPs yet; add one.', false);
}

export function noAddressInFamily(
  workload: WorkloadRecord,
  service: ServiceRecord,
  families: readonly IpFamily[],
): LeftOut {
  const wanted = families.join(' and ');
  const detail = `Service ${service.name} wants ${wanted} addresses and none of the workload's spec.workloadIPs is one.`;
  return leftOut(workload, 'no-address-in-family', detail, false);
}

export function addressRefused(
  workload: WorkloadRecord,
  refused: readonly RefusedAddress[],
): LeftOut {
  const each = refused.map(({ text, reason }) => `${quote(text)} ${reason}`);
  const detail = `No EndpointSlice may hold these spec.workloadIPs, so they are left out: ${unique(each)}.`;
  return leftOut(workload, 'address-refused', detail, true);
}

export function noPortResolves(
  workload: WorkloadRecord,
  service: ServiceRecord,
  unresolved: readonly WantedPort[],
): LeftOut {
  const detail =
    unresolved.length === 0
      ? `Service ${service.name} has no ports, and only a headless Service does without.`
      : `None of the ports of Service ${service.name} is in the workload's spec.ports: ${each(unresolved)}.`;
  return leftOut(workload, 'no-port-resolves', detail, false);
}

export function portUnresolved(
  workload: WorkloadRecord,
  service: ServiceRecord,
  unresolved: readonly WantedPort[],
): LeftOut {
  const detail = `It is left out of some ports of Service ${service.name}, which its spec.ports does not have: ${each(unresolved)}.`;
  return leftOut(workload, 'port-unresolved', detail, false);
}

export function portNameAmbiguous(
  workload: WorkloadRecord,
  ambiguous: readonly AmbiguousPort[],
): LeftOut {
  const names = ambiguous.map(
    ({ name, protocol, numbers }) =>
      `${quote(name)} (${protocol}) is ${numbers.join(' and ')}, of which ${numbers[0]} is used`,
  );
  const detail = `Its spec.ports gives one name to several numbers: ${unique(names)}.`;
  return leftOut(workload, 'port-name-ambiguous', detail, true);
}

export function hostnameRefused(workload: WorkloadRecord): LeftOut {
  const detail = `Its name ${quote(workload.name)} is not a DNS label of at most 63 characters, so headless Services publish it without a hostname.`;
  return leftOut(workload, 'hostname-refused', detail, true);
}

function each(ports: readonly WantedPort[]): string {
  return unique(
    ports.map(({ name, target, protocol }) => {
      const wanted = typeof target === 'number' ? `number ${target}` : `name ${quote(target)}`;
      return `${name === '' ? 'the port' : `port ${quote(name)}`} needs ${wanted} (${protocol})`;
    }),
  );
}

function unique(parts: readonly string[]): string {
  return [...new Set(parts)].join('; ');
}
