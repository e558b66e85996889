import { isDnsLabel } from '../../core/object-key.ts';
import type { LeftOut } from '../../core/outcome.ts';
import type { IpFamily, ServiceRecord, WorkloadRecord } from '../../core/records.ts';
import { sortAddresses, type WorkloadAddresses } from './addresses.ts';
import { wantsHostname } from './endpoint.ts';
import { wantedFamilies } from './families.ts';
import * as leftOut from './left-out.ts';
import { portResolver, type PortMap, type PortResolution, type PortResolver } from './ports.ts';
import type { PlanOptions } from './types.ts';

/** A Service made ready for judging workload after workload. */
export interface CompiledService {
  readonly service: ServiceRecord;
  readonly families: readonly IpFamily[];
  readonly resolvePorts: PortResolver;
  readonly options: PlanOptions;
}

/** What one selected workload has to offer to one Service. */
export interface Contribution {
  readonly addresses: WorkloadAddresses;
  /** Null when it contributes nothing: no port resolves, or it has no address in a wanted family. */
  readonly portMap: PortMap | null;
  /** At most one a reason. */
  readonly leftOut: readonly LeftOut[];
}

export function compileService(service: ServiceRecord, options: PlanOptions): CompiledService {
  return {
    service,
    families: wantedFamilies(service),
    resolvePorts: portResolver(service, options.undeclaredPorts),
    options,
  };
}

/** Judges a workload that the Service selects; the planner and `explain` share every word of it. */
export function judgeWorkload(compiled: CompiledService, workload: WorkloadRecord): Contribution {
  const { service, families, options } = compiled;
  const addresses = sortAddresses(workload.ips, families, options);
  const resolution = compiled.resolvePorts(workload.ports);
  const addressed = families.some((family) => addresses[family].length > 0);
  const portMap = addressed ? resolution.portMap : null;
  const refusedName = portMap !== null && wantsHostname(service) && !isDnsLabel(workload.name);
  if (addressed && !refusedName && addresses.refused.length === 0 && isPlain(resolution)) {
    return { addresses, portMap, leftOut: NOTHING };
  }
  const reasons = [
    ...addressReasons(compiled, workload, addresses, addressed),
    ...portReasons(service, workload, resolution),
    ...(refusedName ? [leftOut.hostnameRefused(workload)] : []),
  ];
  return { addresses, portMap, leftOut: reasons };
}

const NOTHING: readonly LeftOut[] = [];

function isPlain({ portMap, unresolved, ambiguous }: PortResolution): boolean {
  return portMap !== null && unresolved.length === 0 && ambiguous.length === 0;
}

function addressReasons(
  { service, families }: CompiledService,
  workload: WorkloadRecord,
  { IPv4, IPv6, refused }: WorkloadAddresses,
  addressed: boolean,
): LeftOut[] {
  const reasons: LeftOut[] = [];
  if (workload.ips.length === 0) reasons.push(leftOut.noAddress(workload));
  if (refused.length > 0) reasons.push(leftOut.addressRefused(workload, refused));
  if (!addressed && IPv4.length + IPv6.length > 0) {
    reasons.push(leftOut.noAddressInFamily(workload, service, families));
  }
  return reasons;
}

function portReasons(
  service: ServiceRecord,
  workload: WorkloadRecord,
  { portMap, unresolved, ambiguous }: PortResolution,
): LeftOut[] {
  const reasons: LeftOut[] = [];
  if (portMap === null) reasons.push(leftOut.noPortResolves(workload, service, unresolved));
  else if (unresolved.length > 0) {
    reasons.push(leftOut.portUnresolved(workload, service, unresolved));
  }
  if (ambiguous.length > 0) reasons.push(leftOut.portNameAmbiguous(workload, ambiguous));
  return reasons;
}
