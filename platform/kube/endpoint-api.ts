import type {
  ApiEndpointSlice,
  ApiExternalWorkload,
  ApiObject,
  ApiService,
} from '../../core/api-objects.ts';
import { ApiError, isNotFound, MissingKindError, UnreachableError } from '../../core/errors.ts';
import { managedBySelector, type SliceManagers } from '../../core/managers.ts';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
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
  /** Those of the Service that are ours, or to be taken over. */
  listSlices(key: ObjectKey, managers: SliceManagers, signal: AbortSignal): Promise<SliceRecord[]>;
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

/** @throws ApiError, UnreachableError from every call; `NotFound` on a read is null, on a delete false. */
export function createEndpointApi(client: KubeClient): EndpointApi {
  return { ...reads(client), ...writes(client) };
}

type Reads = Pick<EndpointApi, 'readService' | 'listWorkloads' | 'listSlices'>;

function reads(client: KubeClient): Reads {
  return {
    readService: async (key, signal) => {
      const what = `get service ${formatKey(key)}`;
      const path = `/api/v1/namespaces/${key.namespace}/services/${key.name}`;
      const found = await orNotFound(client.get<ApiService>(path, { what, signal }));
      return found === NOT_FOUND ? null : projectService(expectObject(what, key.name, found));
    },
    listWorkloads: async (namespace, selector, signal) => {
      if (Object.keys(selector).length === 0) return [];
      const path = `/apis/workload.linkerd.io/v1beta1/namespaces/${namespace}/externalworkloads`;
      const labelSelector = selectorText(selector);
      const what = `list externalworkloads in namespace ${namespace}`;
      const pages = client.list<ApiExternalWorkload>(path, { what, signal, labelSelector });
      return (await collect(pages).catch(explainMissingKind(what))).map(projectWorkload);
    },
    listSlices: async (key, managers, signal) => {
      const ofService = selectorText({ [LABEL_SERVICE_NAME]: key.name });
      const labelSelector = `${ofService},${managedBySelector(managers)}`;
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
      const made = await client.create<ApiEndpointSlice>(path, body, { what, signal });
      return projectSlice(expectObject(what, name, made));
    },
    replaceSlice: async (namespace, name, body, signal) => {
      const what = `update endpointslice ${namespace}/${name}`;
      const path = `${slicesPath(namespace)}/${name}`;
      const made = await client.replace<ApiEndpointSlice>(path, body, { what, signal });
      return projectSlice(expectObject(what, name, made));
    },
    deleteSlice: async (namespace, slice, signal) => {
      const what = `delete endpointslice ${namespace}/${slice.name}`;
      const path = `${slicesPath(namespace)}/${slice.name}`;
      const preconditions = { uid: slice.uid, resourceVersion: slice.rv };
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
      const answer = await orNotFound(
        client.delete<ApiObject | null>(path, body, { what, signal }),
      );
      if (answer === NOT_FOUND) return false;
      // A Status; or the slice itself, where a finalizer keeps it for a while.
      if (answer?.kind !== 'Status') expectObject(what, slice.name, answer);
      return true;
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

const NOT_FOUND = Symbol('not found');

/**
 * The API server's own word that an object is not there. Any other 404 stays an error: of a kind that
 * is not served, and of a proxy in between, whose word must not empty a Service.
 */
async function orNotFound<T>(request: Promise<T>): Promise<T | typeof NOT_FOUND> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error)) return NOT_FOUND;
    throw error;
  }
}

/** Success and JSON may come from a proxy in between as well: it is what was asked for, or an error. */
function expectObject<T extends ApiObject>(what: string, name: string, object: T | null): T {
  const meta = object?.metadata;
  if (object && meta?.name === name && (meta.resourceVersion ?? '') !== '') return object;
  throw new UnreachableError(what, new Error('the answer is JSON, but not that object'));
}
