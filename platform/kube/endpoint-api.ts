import type { ApiEndpointSlice, ApiExternalWorkload, ApiService } from '../../core/api-objects.ts';
import { ApiError, MissingKindError } from '../../core/errors.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { formatKey, type ObjectKey } from '../../core/object-key.ts';
import { projectService, projectSlice, projectWorkload } from '../../core/project.ts';
import type { Labels, ServiceRecord, SliceRecord, WorkloadRecord } from '../../core/records.ts';
import type { KubeClient, ListPage } from './client.ts';

/** The requests that reconciling a Service makes; nothing else of the API is touched. */
export interface EndpointApi {
  readService(key: ObjectKey, signal: AbortSignal): Promise<ServiceRecord | null>;
  /** Workloads that a selector matches; an empty selector matches nothing. */
  listWorkloads(
    namespace: string,
    selector: Labels,
    signal: AbortSignal,
  ): Promise<WorkloadRecord[]>;
  listSlices(key: ObjectKey, manager: string, signal: AbortSignal): Promise<SliceRecord[]>;
  createSlice(
    namespace: string,
    name: string,
    body: object,
    signal: AbortSignal,
  ): Promise<SliceRecord>;
  replaceSlice(
    namespace: string,
    name: string,
    body: object,
    signal: AbortSignal,
  ): Promise<SliceRecord>;
  /** With resourceVersion and UID as preconditions; gives false when it was gone already. */
  deleteSlice(namespace: string, slice: SliceRecord, signal: AbortSignal): Promise<boolean>;
}

export const PATHS = {
  service: '/api/v1/services',
  workload: '/apis/workload.linkerd.io/v1beta1/externalworkloads',
  slice: '/apis/discovery.k8s.io/v1/endpointslices',
} as const;

/** @throws ApiError, UnreachableError from every call; a 404 on a read is null, on a delete false. */
export function createEndpointApi(client: KubeClient): EndpointApi {
  return { ...reads(client), ...writes(client) };
}

type Reads = Pick<EndpointApi, 'readService' | 'listWorkloads' | 'listSlices'>;

function reads(client: KubeClient): Reads {
  return {
    readService: async (key, signal) => {
      const what = `get service ${formatKey(key)}`;
      const path = `/api/v1/namespaces/${key.namespace}/services/${key.name}`;
      const found = await orNull(client.get<ApiService>(path, { what, signal }));
      return found && projectService(found);
    },
    listWorkloads: async (namespace, selector, signal) => {
      if (Object.keys(selector).length === 0) return [];
      const path = `/apis/workload.linkerd.io/v1beta1/namespaces/${namespace}/externalworkloads`;
      const labelSelector = selectorText(selector);
      const what = `list externalworkloads in namespace ${namespace}`;
      const pages = client.list<ApiExternalWorkload>(path, { what, signal, labelSelector });
      return (await collect(pages).catch(explainMissingKind(what))).map(projectWorkload);
    },
    listSlices: async (key, manager, signal) => {
      const ours = { [LABEL_SERVICE_NAME]: key.name, [LABEL_MANAGED_BY]: manager };
      const labelSelector = selectorText(ours);
      const what = `list endpointslices of service ${formatKey(key)}`;
      const path = slicesPath(key.namespace);
      const pages = client.list<ApiEndpointSlice>(path, { what, signal, labelSelector });
      return (await collect(pages)).map(projectSlice);
    },
  };
}

function writes(client: KubeClient): Omit<EndpointApi, keyof Reads> {
  return {
    createSlice: async (namespace, name, body, signal) => {
      const what = `create endpointslice ${namespace}/${name}`;
      const path = slicesPath(namespace);
      return projectSlice(await client.create<ApiEndpointSlice>(path, body, { what, signal }));
    },
    replaceSlice: async (namespace, name, body, signal) => {
      const what = `update endpointslice ${namespace}/${name}`;
      const path = `${slicesPath(namespace)}/${name}`;
      return projectSlice(await client.replace<ApiEndpointSlice>(path, body, { what, signal }));
    },
    deleteSlice: async (namespace, slice, signal) => {
      const what = `delete endpointslice ${namespace}/${slice.name}`;
      const path = `${slicesPath(namespace)}/${slice.name}`;
      const preconditions = { uid: slice.uid, resourceVersion: slice.rv };
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
      return (await orNull(client.delete<object>(path, body, { what, signal }))) !== null;
    },
  };
}

/** A collection always exists, so a 404 of one means that its kind does not. */
function explainMissingKind(what: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ApiError && error.status === 404 ? new MissingKindError(what) : error;
  };
}

/** All items of a list, whose pages begin anew when its continue token expired. */
async function collect<T>(pages: AsyncIterable<ListPage<T>>): Promise<T[]> {
  let items: T[] = [];
  for await (const page of pages) {
    if (page.restarted) items = [];
    items.push(...page.items);
  }
  return items;
}

function slicesPath(namespace: string): string {
  return `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
}

function selectorText(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** A 404 means that the object is not there; of the kind itself (no CRD) it stays an error. */
async function orNull<T>(request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}
