import type { ApiEndpointSlice } from '../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../core/names.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { PATHS } from '../platform/kube/endpoint-api.ts';

/** Kubernetes' own controller joins a Service's pods to it beside us: that is what it is for. */
const EXPECTED = 'endpointslice-controller.k8s.io';

export interface OtherManager {
  readonly key: ObjectKey;
  /** The managed-by label; '' for slices that name no manager. */
  readonly manager: string;
  readonly slices: number;
}

/**
 * Slices of Services that somebody other than us and Kubernetes' own controller writes. Two writers
 * of the same workloads double every endpoint, so people should know (report 19).
 */
export async function findOtherManagers(
  client: KubeClient,
  ours: string,
  signal: AbortSignal,
): Promise<OtherManager[]> {
  const labelSelector = `${LABEL_SERVICE_NAME},${LABEL_MANAGED_BY} notin (${ours},${EXPECTED})`;
  const found = new Map<string, { key: ObjectKey; manager: string; slices: number }>();
  const what = 'list endpointslices of other managers';
  for await (const page of client.list<ApiEndpointSlice>(PATHS.slice, {
    what,
    signal,
    labelSelector,
  })) {
    if (page.restarted) found.clear();
    for (const { metadata = {} } of page.items) {
      const manager = metadata.labels?.[LABEL_MANAGED_BY] ?? '';
      const name = metadata.labels?.[LABEL_SERVICE_NAME] ?? '';
      const key = { namespace: metadata.namespace ?? '', name };
      const id = `${formatKey(key)} ${manager}`;
      const entry = found.get(id) ?? { key, manager, slices: 0 };
      entry.slices += 1;
      found.set(id, entry);
    }
  }
  return [...found.values()];
}
