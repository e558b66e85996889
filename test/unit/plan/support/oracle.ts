import { isIPv4, isIPv6 } from 'node:net';
import type { ServiceRecord, SliceRecord, WorkloadRecord } from '../../../../core/records.ts';
import type { PlanInput } from '../../../../functions/plan/types.ts';

/**
 * What the slices have to hold in the end, worked out as naively as the spec reads and with nothing
 * of the planner: one text for each endpoint at its ports, sorted.
 */
export function expectedEndpoints(input: PlanInput): string[] {
  const { service } = input;
  if (service === null || service.type === 'ExternalName') return [];
  const selector = Object.entries(service.selector);
  if (selector.length === 0) return [];
  const seen = new Map(input.workloads.map((workload) => [workload.name, workload]));
  const lines = [...seen.values()]
    .filter(({ labels }) => selector.every(([key, value]) => labels[key] === value))
    .flatMap((workload) =>
      ['IPv4', 'IPv6'].flatMap((family) => expectedLine(input, service, workload, family)),
    );
  return lines.sort();
}

function expectedLine(
  input: PlanInput,
  service: ServiceRecord,
  workload: WorkloadRecord,
  family: string,
): string[] {
  const { key, options } = input;
  if (!familiesOf(service).includes(family)) return [];
  const addresses = workload.ips.flatMap((text) => canonical(text, family));
  const ports = expectedPorts(input, service, workload);
  const headless = service.clusterIP === 'None';
  if (addresses.length === 0) return [];
  if (ports.length === 0 && !(headless && service.ports.length === 0)) return [];
  const serving = workload.ready ?? options.workloadsWithoutStatus === 'ready';
  const ready = service.publishNotReady || (serving && !workload.deleting);
  const hostname = headless && /^[a-z0-9-]{1,63}$/.test(workload.name) ? workload.name : '';
  return [
    line(family, ports, {
      addresses: [...new Set(addresses)],
      state: [ready, serving, workload.deleting],
      target: ['ExternalWorkload', key.namespace, workload.name, workload.uid],
      place: [hostname, ...expectedZone(service, workload, ready)],
    }),
  ];
}

function expectedZone({ zoneHints }: ServiceRecord, { labels }: WorkloadRecord, ready: boolean) {
  const zone = labels['topology.kubernetes.io/zone'] ?? '';
  return [zone, zoneHints && ready && zone !== '' ? [zone] : []];
}

function expectedPorts(
  { options }: PlanInput,
  service: ServiceRecord,
  workload: WorkloadRecord,
): unknown[][] {
  return service.ports.flatMap((port) => {
    const target = port.targetPort ?? port.port;
    const match = workload.ports.find(
      (candidate) =>
        candidate.protocol === port.protocol &&
        (typeof target === 'string' ? candidate.name === target : candidate.port === target),
    );
    const undeclared = options.undeclaredPorts === 'allow' && typeof target === 'number';
    const number = undeclared ? target : match?.port;
    return number === undefined ? [] : [[port.name, number, port.protocol, port.appProtocol ?? '']];
  });
}

function familiesOf(service: ServiceRecord): string[] {
  if (service.ipFamilies.length > 0) return [...service.ipFamilies];
  if (isIPv4(service.clusterIP)) return ['IPv4'];
  return isIPv6(service.clusterIP) ? ['IPv6'] : ['IPv4', 'IPv6'];
}

function canonical(text: string, family: string): string[] {
  if (family === 'IPv4')
    return isIPv4(text) && !/^(127\.|169\.254\.|22[4-9]\.|23)/.test(text) ? [text] : [];
  if (!isIPv6(text) || text.includes('%')) return [];
  // WHATWG URLs print IPv6 addresses as RFC 5952 does.
  const printed = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  return /^(::1?$|::ffff:|fe[89ab]|ff)/.test(printed) ? [] : [printed];
}

/** The same texts of slices as they are. */
export function actualEndpoints(slices: readonly SliceRecord[]): string[] {
  const lines = slices.flatMap(({ addressType, ports, endpoints }) =>
    endpoints.map(({ addresses, conditions, targetRef, hostname, zone, hints }) =>
      line(
        addressType,
        ports.map((port) => [port.name, port.port, port.protocol, port.appProtocol ?? '']),
        {
          addresses,
          state: [conditions.ready, conditions.serving, conditions.terminating],
          target: [targetRef?.kind, targetRef?.namespace, targetRef?.name, targetRef?.uid],
          place: [hostname ?? '', zone ?? '', (hints?.forZones ?? []).map(({ name }) => name)],
        },
      ),
    ),
  );
  return lines.sort();
}

function line(family: string, ports: readonly unknown[], endpoint: object): string {
  const sorted = ports.map((port) => JSON.stringify(port)).sort();
  return JSON.stringify([family, sorted, endpoint]);
}
