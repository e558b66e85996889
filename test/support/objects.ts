import type { ApiEndpointSlice, ApiObject } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { api, apiOk } from './api.ts';
import { TEST_MANAGER } from './run.ts';

/** Objects of the real API server, made and read as a user would. */

export interface ServiceInput {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const HTTP = { name: 'http', port: 80, targetPort: 8080 };

/** A Service that selects `app: NAME`, port 80 to 8080, unless `spec` says otherwise. */
export async function createService(
  namespace: string,
  name: string,
  { spec = {}, labels = {}, annotations = {} }: ServiceInput = {},
): Promise<ApiObject> {
  return (await apiOk('POST', `/api/v1/namespaces/${namespace}/services`, {
    metadata: { name, labels, annotations },
    spec: { selector: { app: name }, ports: [HTTP], ...spec },
  })) as ApiObject;
}

export function servicePath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/services/${name}`;
}

export interface WorkloadInput {
  readonly labels?: Readonly<Record<string, string>>;
  readonly ips?: readonly string[];
  readonly ports?: readonly object[];
  /** False: Ready=False. null: no status at all. Default true. */
  readonly ready?: boolean | null;
  readonly finalizers?: readonly string[];
}

export function workloadPath(namespace: string, name = ''): string {
  const path = `/apis/workload.linkerd.io/v1beta1/namespaces/${namespace}/externalworkloads`;
  return name === '' ? path : `${path}/${name}`;
}

/** A workload with `app: APP`, one address and port 8080 named http, ready unless said otherwise. */
export async function createWorkload(
  namespace: string,
  name: string,
  app: string,
  input: WorkloadInput = {},
): Promise<ApiObject> {
  const { labels = {}, ips = ['192.0.2.10'], ready = true, finalizers = [] } = input;
  const ports = input.ports ?? [{ name: 'http', port: 8080, protocol: 'TCP' }];
  const made = await apiOk('POST', workloadPath(namespace), {
    apiVersion: 'workload.linkerd.io/v1beta1',
    kind: 'ExternalWorkload',
    metadata: { name, labels: { app, ...labels }, finalizers },
    spec: {
      meshTLS: { identity: `spiffe://root.example/${name}`, serverName: `${name}.example` },
      workloadIPs: ips.map((ip) => ({ ip })),
      ports,
    },
  });
  if (ready !== null) await setReady(namespace, name, ready);
  return made as ApiObject;
}

export async function setReady(namespace: string, name: string, ready: boolean): Promise<void> {
  const conditions = [
    { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ];
  await mergePatch(`${workloadPath(namespace, name)}/status`, { status: { conditions } });
}

export async function mergePatch(path: string, body: unknown): Promise<unknown> {
  return apiOk('PATCH', path, body, { contentType: 'application/merge-patch+json' });
}

export async function remove(path: string): Promise<void> {
  await apiOk('DELETE', path);
}

/** Slices of a Service that `manager` wrote, by name. */
export async function slicesOf(
  namespace: string,
  service: string,
  manager = TEST_MANAGER,
): Promise<ApiEndpointSlice[]> {
  const selector = `${LABEL_SERVICE_NAME}=${service},${LABEL_MANAGED_BY}=${manager}`;
  const path = `${slicesPath(namespace)}?labelSelector=${encodeURIComponent(selector)}`;
  const list = (await apiOk('GET', path)) as { readonly items: ApiEndpointSlice[] };
  return list.items.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)));
}

/**
 * `slicesOf` a Service whose workloads are all ready, once the slices say so.
 * `createWorkload` makes a workload ready by a second request: who looks at the slices between
 * the two takes the middle of it for the state before a change.
 * @throws Error while an endpoint is not ready: for `eventually`.
 */
export async function readySlicesOf(
  namespace: string,
  service: string,
): Promise<ApiEndpointSlice[]> {
  const slices = await slicesOf(namespace, service);
  const late = slices.flatMap(({ endpoints }) => endpoints ?? []).find((e) => !e.conditions?.ready);
  if (late) throw new Error(`${namespace}/${service}: ${late.addresses?.join()} is not ready`);
  return slices;
}

export function slicesPath(namespace: string, name = ''): string {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  return name === '' ? path : `${path}/${name}`;
}

/** `ADDRESS[,ADDRESS] PORT[,PORT] ready|serving|not-ready|terminating` of each endpoint, sorted. */
export async function endpointsOf(namespace: string, service: string): Promise<string[]> {
  const slices = await slicesOf(namespace, service);
  const lines = slices.flatMap((slice) =>
    (slice.endpoints ?? []).map((endpoint) => {
      const ports = (slice.ports ?? []).map((port) => `${port.port}`).join(',');
      const { ready, serving, terminating } = endpoint.conditions ?? {};
      const state = ready
        ? 'ready'
        : terminating
          ? 'terminating'
          : serving
            ? 'serving'
            : 'not-ready';
      return `${endpoint.addresses?.join(',')} ${ports} ${state}`;
    }),
  );
  return lines.sort();
}

export function nameOf(object: ApiObject): string {
  return object.metadata?.name ?? '';
}

/** Of a slice: rises with every write that changes its endpoints, ports or labels. */
export function generationOf({ metadata }: ApiObject): number {
  const { generation } = (metadata ?? {}) as { readonly generation?: number };
  return generation ?? 0;
}

/** Gone, or never there. */
export async function exists(path: string): Promise<boolean> {
  return (await api('GET', path)).status !== 404;
}
