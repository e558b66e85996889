import type { ApiObject, ApiSecret } from '../../core/api-objects.ts';
import { isNotFound } from '../../core/errors.ts';
import { LABEL_CLUSTER_NAME } from '../../core/names.ts';
import { formatKey, type ObjectKey } from '../../core/object-key.ts';
import type { KubeClient } from './client.ts';

export function secretsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/secrets`;
}

/** Null when there is none. @throws ApiError, UnreachableError */
export async function readSecret(
  client: Pick<KubeClient, 'get'>,
  key: ObjectKey,
  signal?: AbortSignal,
): Promise<ApiSecret | null> {
  const path = `${secretsPath(key.namespace)}/${key.name}`;
  const what = `get secret ${formatKey(key)}`;
  try {
    return await client.get<ApiSecret>(path, signal === undefined ? { what } : { what, signal });
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

/**
 * Names and labels of all Secrets with the label of a cluster, whatever their namespace and without
 * their data. @throws ApiError, UnreachableError
 */
export async function listLabelledSecrets(
  client: Pick<KubeClient, 'list'>,
  signal: AbortSignal,
): Promise<ApiObject[]> {
  const found: ApiObject[] = [];
  const options = {
    what: 'list secrets of all namespaces',
    signal,
    labelSelector: LABEL_CLUSTER_NAME,
    metadataOnly: true,
  };
  for await (const page of client.list<ApiObject>('/api/v1/secrets', options)) {
    if (page.restarted) found.length = 0;
    found.push(...page.items);
  }
  return found;
}
