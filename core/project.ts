import type {
  ApiEndpointSlice,
  ApiExternalWorkload,
  ApiObject,
  ApiService,
  ObjectMeta,
} from './api-objects.ts';
import {
  ANNOTATION_LOCAL_DISCOVERY,
  ANNOTATION_TOPOLOGY_MODE,
  ANNOTATION_TRIGGER_TIME,
  REMOTE_DISCOVERY,
} from './names.ts';
import type {
  DiscoveryRecord,
  EndpointRecord,
  IpFamily,
  Labels,
  Protocol,
  ServiceRecord,
  SliceRecord,
  WorkloadRecord,
} from './records.ts';

/*
 * API object → record. Whatever differs here without a meaning for slices (an absent list against an
 * empty one, a protocol left to its default, the order of a label map) is made equal here, once.
 */

const NEAR = new Set(['PreferClose', 'PreferSameZone', 'PreferSameNode']);

/** A Service, reduced to what its slices depend on. */
export function projectService(object: ApiService): ServiceRecord {
  const spec = object.spec ?? {};
  return {
    ...identity(object),
    type: spec.type ?? 'ClusterIP',
    clusterIP: spec.clusterIP ?? '',
    ipFamilies: (spec.ipFamilies ?? []).filter(isFamily),
    selector: sortedMap(spec.selector),
    ports: (spec.ports ?? []).map((port) => ({
      name: port.name ?? '',
      port: port.port ?? 0,
      protocol: protocolOf(port.protocol),
      targetPort: port.targetPort ?? null,
      ...(port.appProtocol ? { appProtocol: port.appProtocol } : {}),
    })),
    labels: sortedMap(object.metadata?.labels),
    publishNotReady: spec.publishNotReadyAddresses === true,
    zoneHints: wantsZoneHints(object.metadata, spec.trafficDistribution),
    ...discoveryOf(object.metadata),
  };
}

/** Nothing at all for the many Services that stand for no other. */
function discoveryOf(meta: ObjectMeta | undefined): { readonly discovery?: DiscoveryRecord } {
  const remote = meta?.annotations?.[REMOTE_DISCOVERY];
  const local = meta?.annotations?.[ANNOTATION_LOCAL_DISCOVERY];
  if (remote === undefined && local === undefined) return {};
  return {
    discovery: {
      ...(remote === undefined ? {} : { remote }),
      ...(local === undefined ? {} : { local }),
    },
  };
}

/**
 * An ExternalWorkload of either version, reduced likewise; the mTLS fields never reach a slice. Its CRD
 * may be somebody else's, and lax: what is of the wrong type counts as absent, so that it costs its
 * own workload and no other one.
 */
export function projectWorkload(object: ApiExternalWorkload): WorkloadRecord {
  const spec = object.spec ?? {};
  return {
    ...identity(object),
    labels: sortedMap(object.metadata?.labels),
    ips: entriesOf(spec.workloadIPs).map(({ ip }) => (typeof ip === 'string' ? ip : '')),
    ports: entriesOf(spec.ports).flatMap(({ name, port, protocol: text }) => {
      const protocol = knownProtocol(text);
      if (protocol === null || !isPortNumber(port)) return [];
      return { name: typeof name === 'string' ? name : '', port, protocol };
    }),
    ready: readyOf(object.status?.conditions),
  };
}

function entriesOf<T extends object>(list: readonly T[] | undefined): readonly T[] {
  if (!Array.isArray(list)) return [];
  const entries: readonly (T | null)[] = list;
  return entries.filter((entry) => typeof entry === 'object' && entry !== null);
}

function isPortNumber(port: number | undefined): port is number {
  return Number.isInteger(port) && port !== undefined && port >= 1 && port <= 65_535;
}

/** An EndpointSlice with the API server's own defaults filled in, so that equality means equality. */
export function projectSlice(object: ApiEndpointSlice): SliceRecord {
  const meta = object.metadata ?? {};
  const annotations = sortedMap(meta.annotations, ANNOTATION_TRIGGER_TIME);
  return {
    ...identity(object),
    addressType: object.addressType ?? '',
    labels: sortedMap(meta.labels),
    owners: (meta.ownerReferences ?? []).map((owner) => ({
      apiVersion: owner.apiVersion ?? '',
      kind: owner.kind ?? '',
      name: owner.name ?? '',
      uid: owner.uid ?? '',
      ...(owner.controller === undefined ? {} : { controller: owner.controller }),
      ...(owner.blockOwnerDeletion === undefined
        ? {}
        : { blockOwnerDeletion: owner.blockOwnerDeletion }),
    })),
    ports: (object.ports ?? []).map((port) => ({
      name: port.name ?? '',
      port: port.port ?? null,
      protocol: protocolOf(port.protocol),
      ...(port.appProtocol ? { appProtocol: port.appProtocol } : {}),
    })),
    endpoints: (object.endpoints ?? []).map(projectEndpoint),
    ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    ...(meta.finalizers && meta.finalizers.length > 0 ? { finalizers: meta.finalizers } : {}),
  };
}

type ApiEndpoint = NonNullable<ApiEndpointSlice['endpoints']>[number];

function projectEndpoint(endpoint: ApiEndpoint): EndpointRecord {
  const zones = endpoint.hints?.forZones ?? [];
  const ref = endpoint.targetRef;
  return {
    addresses: endpoint.addresses ?? [],
    conditions: endpoint.conditions ?? {},
    ...(endpoint.hostname ? { hostname: endpoint.hostname } : {}),
    ...(ref ? { targetRef: pickRef(ref) } : {}),
    ...(endpoint.nodeName ? { nodeName: endpoint.nodeName } : {}),
    ...(endpoint.zone ? { zone: endpoint.zone } : {}),
    ...(zones.length > 0 ? { hints: { forZones: zones } } : {}),
    ...(isForeign(endpoint) ? { foreign: true } : {}),
  };
}

/** Such fields are not kept, as no plan needs them; that they are there makes an endpoint differ. */
function isForeign({ hints, targetRef: ref }: ApiEndpoint): boolean {
  if (hints?.forNodes && hints.forNodes.length > 0) return true;
  return Boolean(ref && (ref.apiVersion || ref.fieldPath || ref.resourceVersion));
}

function pickRef(
  ref: NonNullable<ApiEndpoint['targetRef']>,
): NonNullable<EndpointRecord['targetRef']> {
  return {
    ...(ref.kind ? { kind: ref.kind } : {}),
    ...(ref.namespace ? { namespace: ref.namespace } : {}),
    ...(ref.name ? { name: ref.name } : {}),
    ...(ref.uid ? { uid: ref.uid } : {}),
  };
}

function identity(object: ApiObject): {
  name: string;
  uid: string;
  rv: string;
  deleting: boolean;
} {
  const meta = object.metadata ?? {};
  return {
    name: meta.name ?? '',
    uid: meta.uid ?? '',
    rv: meta.resourceVersion ?? '',
    deleting: meta.deletionTimestamp !== undefined && meta.deletionTimestamp !== null,
  };
}

/** Conditions are a map by type: of several entries of one type the last one counts (rule D3). */
function readyOf(
  conditions: readonly { readonly type?: string; readonly status?: string }[] | undefined,
): boolean | null {
  const last = entriesOf(conditions).findLast((condition) => condition.type === 'Ready');
  return last ? last.status === 'True' : null;
}

function wantsZoneHints(
  meta: ObjectMeta | undefined,
  trafficDistribution: string | undefined,
): boolean {
  const mode = meta?.annotations?.[ANNOTATION_TOPOLOGY_MODE];
  return mode === 'Auto' || mode === 'auto' || NEAR.has(trafficDistribution ?? '');
}

function isFamily(text: string): text is IpFamily {
  return text === 'IPv4' || text === 'IPv6';
}

function protocolOf(text: string | undefined): Protocol {
  return knownProtocol(text) ?? 'TCP';
}

/** Missing means TCP (E2). A CRD takes any text; a port of another protocol answers to no Service. */
function knownProtocol(text: string | undefined): Protocol | null {
  if (text === undefined || text === '') return 'TCP';
  return text === 'TCP' || text === 'UDP' || text === 'SCTP' ? text : null;
}

function sortedMap(map: Labels | undefined, without?: string): Labels {
  const sorted: Record<string, string> = {};
  for (const key of Object.keys(map ?? {}).sort()) {
    if (key !== without) sorted[key] = map?.[key] ?? '';
  }
  return sorted;
}
