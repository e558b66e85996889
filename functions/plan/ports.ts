import type {
  EndpointPortRecord,
  Protocol,
  ServicePortRecord,
  ServiceRecord,
  WorkloadPortRecord,
} from '../../core/records.ts';
import type { PlanOptions } from './types.ts';

/** A set of ports that a slice offers for each of its endpoints. Equal sets have equal keys. */
export interface PortMap {
  readonly key: string;
  /** In the Service's order. */
  readonly ports: readonly EndpointPortRecord[];
}

/** One name that a workload gives to several ports of one protocol. */
export interface AmbiguousPort {
  readonly name: string;
  readonly protocol: Protocol;
  /** All its numbers, in the workload's order; the first is used. */
  readonly numbers: readonly number[];
}

/** What the ports of one Service come to at one workload. */
export interface PortResolution {
  /** Null when no Service port resolves: the workload contributes nothing. */
  readonly portMap: PortMap | null;
  readonly unresolved: readonly WantedPort[];
  readonly ambiguous: readonly AmbiguousPort[];
}

export type PortResolver = (ports: readonly WorkloadPortRecord[]) => PortResolution;

/** A Service port with the API server's defaults filled in. */
export interface WantedPort {
  readonly name: string;
  readonly target: number | string;
  readonly protocol: Protocol;
  readonly appProtocol?: string;
}

const NONE: readonly AmbiguousPort[] = [];

/** Resolutions by the numbers of the Service's ports, one level a port. */
interface Branch {
  readonly next: Map<number, Branch>;
  resolution: PortResolution | null;
}

/**
 * Resolves a Service's ports at workload after workload. Workloads that come to the same numbers,
 * as most do, share one resolution, so that the cost of building and naming it is paid once.
 */
export function portResolver(
  service: ServiceRecord,
  undeclaredPorts: PlanOptions['undeclaredPorts'],
): PortResolver {
  const wanted = service.ports.map(withDefaults);
  const portless = wanted.length === 0 && service.clusterIP === 'None';
  const root: Branch = { next: new Map(), resolution: null };
  return (ports) => {
    let branch = root;
    for (const port of wanted) branch = follow(branch, resolvePort(port, ports, undeclaredPorts));
    branch.resolution ??= resolveAll(
      wanted,
      wanted.map((port) => resolvePort(port, ports, undeclaredPorts)),
      portless,
    );
    const ambiguous = ports.length < 2 ? NONE : ambiguousPorts(wanted, ports);
    return ambiguous.length === 0 ? branch.resolution : { ...branch.resolution, ambiguous };
  };
}

function follow(branch: Branch, number: number): Branch {
  let next = branch.next.get(number);
  if (next === undefined) {
    next = { next: new Map(), resolution: null };
    branch.next.set(number, next);
  }
  return next;
}

/** The API server fills in TCP, and the port's own number for an absent, 0 or '' targetPort. */
function withDefaults(port: ServicePortRecord): WantedPort {
  const { name, port: number, appProtocol } = port;
  const target = port.targetPort || number;
  const wanted = { name: name || '', target, protocol: protocolOf(port) };
  return appProtocol ? { ...wanted, appProtocol } : wanted;
}

/** Protocols are TCP unless they say otherwise, in what other people's programs stored too. */
function protocolOf(port: { readonly protocol?: Protocol | null }): Protocol {
  return port.protocol || 'TCP';
}

/** The number of a Service port at a workload, 0 when it does not resolve. */
function resolvePort(
  { target, protocol }: WantedPort,
  ports: readonly WorkloadPortRecord[],
  undeclaredPorts: PlanOptions['undeclaredPorts'],
): number {
  if (typeof target === 'number' && undeclaredPorts === 'allow') return target;
  for (const port of ports) {
    const matches = typeof target === 'number' ? port.port === target : port.name === target;
    if (matches && port.port > 0 && protocolOf(port) === protocol) return port.port;
  }
  return 0;
}

function resolveAll(
  wanted: readonly WantedPort[],
  numbers: readonly number[],
  portless: boolean,
): PortResolution {
  const ports: EndpointPortRecord[] = [];
  const unresolved: WantedPort[] = [];
  wanted.forEach((port, index) => {
    const number = numbers[index] ?? 0;
    if (number === 0) unresolved.push(port);
    else ports.push(endpointPort(port, number));
  });
  const portMap = ports.length > 0 || portless ? { key: portMapKey(ports), ports } : null;
  return { portMap, unresolved, ambiguous: NONE };
}

function endpointPort(wanted: WantedPort, port: number): EndpointPortRecord {
  const { name, protocol, appProtocol } = wanted;
  return appProtocol === undefined
    ? { name, port, protocol }
    : { name, port, protocol, appProtocol };
}

function ambiguousPorts(
  wanted: readonly WantedPort[],
  ports: readonly WorkloadPortRecord[],
): readonly AmbiguousPort[] {
  let found: AmbiguousPort[] | null = null;
  for (const { target, protocol } of wanted) {
    if (typeof target === 'number' || !isRepeated(target, ports)) continue;
    const named = ports.filter((port) => port.name === target && protocolOf(port) === protocol);
    const numbers = [...new Set(named.map((port) => port.port))].filter((number) => number > 0);
    if (numbers.length < 2) continue;
    (found ??= []).push({ name: target, protocol, numbers });
  }
  return found ?? NONE;
}

/** Asked of every workload, so that it looks and allocates nothing. */
function isRepeated(name: string, ports: readonly WorkloadPortRecord[]): boolean {
  let times = 0;
  for (const port of ports) if (port.name === name) times += 1;
  return times > 1;
}

/**
 * The identity of a set of ports, from values as the API server stores them: order, a missing name
 * and a missing protocol make no difference, or every pass over a Service with an unnamed port
 * would rewrite its slices (as Linkerd's controller does).
 */
export function portMapKey(ports: readonly EndpointPortRecord[]): string {
  return ports
    .map(
      (port) =>
        `${port.name || ''}/${port.port ?? ''}/${protocolOf(port)}/${port.appProtocol || ''}`,
    )
    .sort()
    .join();
}
