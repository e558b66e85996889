import { ApiError } from '../../core/errors.ts';
import { WORKLOAD_GROUP } from '../../core/names.ts';
import { PATHS } from '../../platform/kube/endpoint-api.ts';
import type { KubeClient } from '../../platform/kube/client.ts';

interface ApiGroup {
  readonly versions?: unknown;
}

const VERSIONS = ['v1beta1', 'v1alpha1'] as const;

/**
 * Where a cluster serves ExternalWorkloads: it may have the CRD of an older release, with v1alpha1
 * alone. v1beta1 where it serves both, or neither.
 *
 * @throws ApiError, UnreachableError when it does not say.
 */
export async function findWorkloadPath(client: KubeClient, signal: AbortSignal): Promise<string> {
  const what = `get the versions of ${WORKLOAD_GROUP}`;
  const group = await client
    .get<ApiGroup>(`/apis/${WORKLOAD_GROUP}`, { what, signal })
    .catch((error: unknown): ApiGroup => {
      // An unknown group is an unknown path to it, of which it says no more than 404.
      if (error instanceof ApiError && error.status === 404) return {};
      throw error;
    });
  const served = Array.isArray(group.versions) ? (group.versions as unknown[]) : [];
  const names = served.map((one) => (one as { readonly version?: unknown } | null)?.version);
  const version = VERSIONS.find((name) => names.includes(name)) ?? VERSIONS[0];
  return PATHS.workload.replace(VERSIONS[0], version);
}
