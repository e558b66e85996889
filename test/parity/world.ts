import type {
  IpFamily,
  Labels,
  Protocol,
  ServicePortRecord,
  ServiceRecord,
  WorkloadPortRecord,
  WorkloadRecord,
} from '../../core/records.ts';
import {
  LABEL_HEADLESS,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_NAME,
  LABEL_ZONE,
} from '../../core/names.ts';
import type { PlanOptions } from '../../functions/plan/types.ts';
import type { Random } from './random.ts';

/** Everything of a case but its slices. */
export interface World {
  readonly service: ServiceRecord;
  readonly workloads: readonly WorkloadRecord[];
  readonly options: PlanOptions;
  /** Goes up with every object made, so that names and UIDs are never used twice. */
  readonly serial: number;
}

const NAMES = ['http', 'metrics', 'dns', 'admin'];
const NUMBERS = [53, 80, 443, 8080, 9090];
const PROTOCOLS: readonly Protocol[] = ['TCP', 'TCP', 'TCP', 'UDP', 'SCTP'];
const REFUSED = [
  'not-an-ip',
  '127.0.0.1',
  '0.0.0.0',
  '169.254.10.5',
  '224.0.0.1',
  '239.1.1.1',
  '010.1.2.3',
  '::1',
  '::',
  'fe80::1',
  'fe80::1%eth0',
  'ff02::1',
  '::ffff:10.1.2.3',
  '',
  '10.1.2.300',
];
const CLUSTER_IPS = ['10.96.0.10', '10.96.0.10', '10.96.0.10', 'fd00:1::10', 'None', 'None', ''];

export function makeWorld(random: Random): World {
  const size = makeSize(random);
  const service = makeService(random);
  let world: World = {
    service,
    workloads: [],
    options: {
      manager: 'parity',
      adopt: [],
      maxEndpointsPerSlice: size.max,
      workloadsWithoutStatus: random.pick(['not-ready', 'not-ready', 'ready'] as const),
      undeclaredPorts: random.pick(['refuse', 'refuse', 'allow'] as const),
      workloadCidrsAllow: [],
      workloadCidrsDeny: [],
    },
    serial: 0,
  };
  for (let i = 0; i < size.workloads; i += 1) world = addWorkload(random, world);
  return world;
}

/** Mostly small and full of edges; some of the size that real Services have. */
function makeSize(random: Random): { readonly workloads: number; readonly max: number } {
  const kind = random.next();
  if (kind < 0.7) return { workloads: random.int(0, 14), max: random.int(1, 6) };
  if (kind < 0.97) return { workloads: random.int(0, 50), max: random.int(4, 20) };
  return { workloads: random.int(100, 320), max: 100 };
}

function makeService(random: Random): ServiceRecord {
  const clusterIP = random.pick(CLUSTER_IPS);
  return {
    name: 'web',
    uid: 'service-1',
    rv: '1',
    deleting: random.chance(0.03),
    type: 'ClusterIP',
    clusterIP,
    ipFamilies: makeFamilies(random),
    selector: { app: 'web' },
    ports: clusterIP === 'None' && random.chance(0.15) ? [] : makeServicePorts(random),
    labels: makeServiceLabels(random),
    publishNotReady: random.chance(0.15),
    zoneHints: random.chance(0.25),
  };
}

export function makeFamilies(random: Random): readonly IpFamily[] {
  return random.pick<readonly IpFamily[]>([
    ['IPv4'],
    ['IPv4'],
    ['IPv6'],
    ['IPv4', 'IPv6'],
    ['IPv6', 'IPv4'],
    [],
  ]);
}

export function makeServicePorts(random: Random): readonly ServicePortRecord[] {
  const names = random.some(NAMES, 0.4);
  if (names.length === 0 || random.chance(0.15)) return [makeServicePort(random, '')];
  return names.map((name) => makeServicePort(random, name));
}

function makeServicePort(random: Random, name: string): ServicePortRecord {
  const target = random.next();
  return {
    name,
    port: random.pick(NUMBERS),
    protocol: random.pick(PROTOCOLS),
    targetPort: target < 0.5 ? random.pick(NAMES) : target < 0.85 ? random.pick(NUMBERS) : null,
    ...(random.chance(0.15) ? { appProtocol: random.pick(['http', 'kubernetes.io/h2c']) } : {}),
  };
}

/** Reserved labels are there too: a Service that carries them must not confuse anybody. */
export function makeServiceLabels(random: Random): Labels {
  const labels: Record<string, string> = {};
  for (const key of random.some(['team', 'tier', 'app'], 0.4))
    labels[key] = random.pick(['a', 'b']);
  if (random.chance(0.05)) labels[LABEL_MANAGED_BY] = 'somebody';
  if (random.chance(0.05)) labels[LABEL_SERVICE_NAME] = 'something';
  if (random.chance(0.05)) labels[LABEL_HEADLESS] = 'yes';
  return labels;
}

export function addWorkload(random: Random, world: World): World {
  const serial = world.serial + 1;
  // A name with a dot is no hostname.
  const name = random.chance(0.06) ? `vm-${serial}.example` : `vm-${serial}`;
  const workload: WorkloadRecord = {
    name,
    uid: `uid-${serial}`,
    rv: String(serial),
    labels: makeWorkloadLabels(random),
    ips: makeIps(random, serial),
    ports: makeWorkloadPorts(random, world),
    ready: random.pick([true, true, true, true, false, null]),
    deleting: random.chance(0.05),
  };
  return { ...world, serial, workloads: [...world.workloads, workload] };
}

export function makeWorkloadLabels(random: Random): Labels {
  const zone = random.pick(['a', 'a', 'b', 'c', '', undefined]);
  return {
    app: random.chance(0.9) ? 'web' : 'other',
    ...(random.chance(0.3) ? { version: random.pick(['1', '2']) } : {}),
    ...(zone === undefined ? {} : { [LABEL_ZONE]: zone }),
  };
}

/**
 * At most two usable addresses a family, in lexical order once canonical: upstream sorts them and
 * Tether keeps the author's order, which is a difference that the README lists.
 */
export function makeIps(random: Random, serial: number): readonly string[] {
  const shared = random.chance(0.05) ? 7 : serial;
  const v4 = `10.1.${Math.floor(shared / 200)}.${(shared % 200) + 10}`;
  const v6 = `fd00:20::${(shared + 16).toString(16)}`;
  const kind = random.next();
  const ips =
    kind < 0.55
      ? [v4]
      : kind < 0.75
        ? [v4, v6]
        : kind < 0.9
          ? [v6]
          : kind < 0.95
            ? [v4, v4.replace('10.1.', '10.2.')]
            : [];
  const spelled = ips.map((ip) =>
    random.chance(0.1) ? ip.toUpperCase().replace('FD00:20::', 'FD00:0020:0:0::') : ip,
  );
  const repeated = random.chance(0.05) ? [...spelled, ...spelled] : spelled;
  return random.chance(0.08) ? [random.pick(REFUSED), ...repeated] : repeated;
}

/** Most workloads of a Service declare what it needs; some declare too little, some something else. */
export function makeWorkloadPorts(random: Random, world: World): readonly WorkloadPortRecord[] {
  const wanted = world.service.ports.map((port) => ({
    name: typeof port.targetPort === 'string' ? port.targetPort : random.pick(['', 'extra']),
    port:
      typeof port.targetPort === 'number'
        ? port.targetPort
        : typeof port.targetPort === 'string'
          ? random.pick([80, 80, 8080])
          : port.port,
    protocol: port.protocol,
  }));
  const declared = random.chance(0.85) ? wanted : random.some(wanted, 0.5);
  const extra = random.chance(0.2)
    ? [{ name: random.pick(NAMES), port: random.pick(NUMBERS), protocol: random.pick(PROTOCOLS) }]
    : [];
  return [...declared, ...extra];
}
