import type { ApiObject } from '../../core/api-objects.ts';
import { describeError, isNotFound } from '../../core/errors.ts';
import { managedBySelector } from '../../core/managers.ts';
import { PATHS } from '../../platform/kube/endpoint-api.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { inParallel } from '../../platform/process/in-parallel.ts';

/** An EndpointSlice of ours, as far as removing it needs. */
export interface OwnSlice {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface Removal {
  readonly removed: readonly OwnSlice[];
  /** One sentence for each that could not be removed. */
  readonly failures: readonly string[];
}

/** Requests under way at once. */
const PARALLEL = 16;

/**
 * The slices that carry our manager's label, of all namespaces or of one.
 *
 * @throws ApiError, UnreachableError of the list.
 */
export async function listOwnSlices(
  client: KubeClient,
  manager: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<OwnSlice[]> {
  const where = namespace === undefined ? 'all namespaces' : `namespace ${namespace}`;
  const path = namespace === undefined ? PATHS.slice : slicesPath(namespace);
  const what = `list endpointslices of ${manager} in ${where}`;
  const labelSelector = managedBySelector({ manager, adopt: [] });
  const options = { what, signal, labelSelector, metadataOnly: true };
  const found: OwnSlice[] = [];
  for await (const page of client.list<ApiObject>(path, options)) {
    if (page.restarted) found.length = 0;
    for (const { metadata } of page.items) {
      const { namespace: at = '', name = '', uid = '' } = metadata ?? {};
      found.push({ namespace: at, name, uid });
    }
  }
  return found;
}

/** Removes them, each by its UID; one that is gone meanwhile is fine, one that fails stops no other. */
export async function removeSlices(
  client: KubeClient,
  slices: readonly OwnSlice[],
  signal: AbortSignal,
): Promise<Removal> {
  const removed: OwnSlice[] = [];
  const failures: string[] = [];
  await inParallel(slices, PARALLEL, async (slice) => {
    signal.throwIfAborted();
    try {
      if (await removeOne(client, slice, signal)) removed.push(slice);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(describeError(error));
    }
  });
  return { removed, failures: failures.sort() };
}

/** False when it was gone already. */
async function removeOne(
  client: KubeClient,
  { namespace, name, uid }: OwnSlice,
  signal: AbortSignal,
): Promise<boolean> {
  const what = `delete endpointslice ${namespace}/${name}`;
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
  try {
    await client.delete(`${slicesPath(namespace)}/${name}`, body, { what, signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

function slicesPath(namespace: string): string {
  return `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
}
