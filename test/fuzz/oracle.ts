import { isIP } from 'node:net';
import type { ApiEndpointSlice, ApiExternalWorkload, ApiService } from '../../core/api-objects.ts';
import { LABEL_HEADLESS, LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';

/*
 * The rules once more, from the API server's own objects, in as few lines as will do. It shares no
 * code with the planner: where the two differ, one of them is wrong.
 */

/** An endpoint as the rules want it, or as a slice shows it. */
export interface Endpoint {
  /** What makes it the same endpoint in another state: family, addresses, hostname, workload. */
  readonly identity: string;
  readonly ready: boolean;
  /** All that a reader can see of it, its ports included. */
  readonly line: string;
}

/** What the slices of one Service have to come to. */
export interface Wanted {
  readonly labels: Readonly<Record<string, string>>;
  readonly endpoints: readonly Endpoint[];
}

const FAMILIES = ['IPv4', 'IPv6'] as const;
type Family = (typeof FAMILIES)[number];

/** Null: the Service is to have no slices at all. `workloads` are those of its namespace. */
export function wantedOf(
  service: ApiService | undefined,
  workloads: readonly ApiExternalWorkload[],
  manager: string,
): Wanted | null {
  const selector = Object.entries(service?.spec?.selector ?? {});
  if (service === undefined || service.spec?.type === 'ExternalName' || selector.length === 0) {
    return null;
  }
  const selected = workloads.filter(({ metadata }) =>
    selector.every(([key, value]) => metadata?.labels?.[key] === value),
  );
  const endpoints = familiesOf(service).flatMap((family) =>
    selected.flatMap((workload) => endpointOf(service, workload, family)),
  );
  return { labels: labelsOf(service, manager), endpoints };
}

function familiesOf({ spec }: ApiService): readonly Family[] {
  const stated = FAMILIES.filter((family) => spec?.ipFamilies?.includes(family));
  if (stated.length > 0) return stated;
  const ip = isIP(spec?.clusterIP ?? '');
  return FAMILIES.filter((_, at) => ip === 0 || ip === (at === 0 ? 4 : 6));
}

function labelsOf({ metadata, spec }: ApiService, manager: string): Record<string, string> {
  const { [LABEL_HEADLESS]: _, ...labels } = metadata?.labels ?? {};
  const headless = spec?.clusterIP === 'None' || (spec?.clusterIP ?? '') === '';
  return {
    ...labels,
    ...(headless ? { [LABEL_HEADLESS]: '' } : {}),
    [LABEL_MANAGED_BY]: manager,
    [LABEL_SERVICE_NAME]: metadata?.name ?? '',
  };
}

/** One or none. */
function endpointOf(
  service: ApiService,
  workload: ApiExternalWorkload,
  family: Family,
): Endpoint[] {
  const addresses = addressesOf(workload, family);
  const ports = portsOf(service, workload.spec?.ports ?? []);
  if (addresses.length === 0 || ports === null) return [];
  const { namespace = '', name = '', uid = '', labels } = workload.metadata ?? {};
  const conditions = conditionsOf(service, workload);
  const zone = labels?.['topology.kubernetes.io/zone'] ?? '';
  const targetRef = { kind: 'ExternalWorkload', namespace, name, uid };
  const hostname = hostnameOf(service, name);
  const hints = { forZones: conditions.ready ? zonesFor(service, zone) : [] };
  return [describe(family, ports, { addresses, conditions, hostname, targetRef, zone, hints })];
}

function addressesOf({ spec }: ApiExternalWorkload, family: Family): string[] {
  const texts = (spec?.workloadIPs ?? []).flatMap(({ ip }) => canonical(ip ?? '', family));
  return [...new Set(texts)];
}

function zonesFor({ spec }: ApiService, zone: string): { name: string }[] {
  return zone === '' || (spec?.trafficDistribution ?? '') === '' ? [] : [{ name: zone }];
}

type Conditions = Record<'ready' | 'serving' | 'terminating', boolean>;

function conditionsOf({ spec }: ApiService, { metadata, status }: ApiExternalWorkload): Conditions {
  const last = status?.conditions?.filter(({ type }) => type === 'Ready').at(-1);
  const serving = last?.status === 'True';
  const terminating = metadata?.deletionTimestamp !== undefined;
  const ready = (serving && !terminating) || spec?.publishNotReadyAddresses === true;
  return { ready, serving, terminating };
}

function hostnameOf({ spec }: ApiService, name: string): string {
  const headless = spec?.clusterIP === 'None';
  return headless && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name) ? name : '';
}

/** As RFC 5952 prints it; nothing where it is of another family, or of no use in a slice. */
function canonical(text: string, family: Family): string[] {
  const version = isIP(text);
  if (version !== (family === 'IPv4' ? 4 : 6) || text.includes('%')) return [];
  if (version === 4) return /^(127|169\.254|22[4-9]|23\d)\.|^0\.0\.0\.0$/.test(text) ? [] : [text];
  const printed = new URL(`http://[${text}]`).hostname.slice(1, -1);
  return /^(::1?|::ffff:.*|fe[89ab].*|ff.*)$/.test(printed) ? [] : [printed];
}

type WorkloadPorts = NonNullable<NonNullable<ApiExternalWorkload['spec']>['ports']>;

/** The ports of a slice for this workload, as text; null when the Service reaches none of them. */
function portsOf({ spec }: ApiService, offered: WorkloadPorts): string | null {
  const wanted = spec?.ports ?? [];
  if (wanted.length === 0) return spec?.clusterIP === 'None' ? '' : null;
  const found = wanted.flatMap((port) => {
    const target = port.targetPort || port.port;
    const match = offered.find(
      (one) =>
        (typeof target === 'string' ? one.name === target : one.port === target) &&
        (one.protocol || 'TCP') === (port.protocol || 'TCP'),
    );
    return match === undefined ? [] : [{ ...port, port: match.port ?? 0 }];
  });
  return found.length === 0 ? null : portText(found);
}

type Ports = NonNullable<ApiEndpointSlice['ports']>;

function portText(ports: Ports): string {
  const texts = ports.map(
    ({ name, port, protocol, appProtocol }) =>
      `${name || ''}:${port}/${protocol || 'TCP'}${appProtocol ? `(${appProtocol})` : ''}`,
  );
  return texts.sort().join(',');
}

/** What a slice shows. */
export function endpointsIn(slice: ApiEndpointSlice): Endpoint[] {
  const ports = portText(slice.ports ?? []);
  return (slice.endpoints ?? []).map((one) => describe(slice.addressType ?? '', ports, one));
}

type ApiEndpoint = NonNullable<ApiEndpointSlice['endpoints']>[number];

function describe(family: string, ports: string, endpoint: ApiEndpoint): Endpoint {
  const { addresses = [], hostname = '', conditions = {}, targetRef: ref = {} } = endpoint;
  const states = (['ready', 'serving', 'terminating'] as const).map((state) => {
    const value = conditions[state];
    return value === undefined ? `${state} unknown` : `${value ? '' : 'not '}${state}`;
  });
  const parts = [
    `${family} ${addresses.join(' ')} at ${ports || 'no ports'}: ${states.join(', ')}`,
    `${ref.kind} ${ref.namespace}/${ref.name} ${ref.uid}`,
    ...extras(endpoint),
  ];
  return {
    identity: `${family} ${addresses.toSorted().join(' ')} ${hostname} ${ref.name}`,
    ready: conditions.ready === true,
    line: parts.join('; '),
  };
}

function extras({ hostname, zone, nodeName, hints }: ApiEndpoint): string[] {
  const zones = (hints?.forZones ?? []).map(({ name }) => name).join(' ');
  const named = { hostname, zone, node: nodeName, for: zones };
  return Object.entries(named).flatMap(([name, value]) => (value ? [`${name} ${value}`] : []));
}
