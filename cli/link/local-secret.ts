import type { ApiSecret } from '../../core/api-objects.ts';
import { isNotFound } from '../../core/errors.ts';
import { CLUSTER_SECRET_TYPE, LABEL_CLUSTER_NAME } from '../../core/names.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { CommandError } from '../failures.ts';
import { serverSideApply } from '../server-side-apply.ts';
import { secretName, type ClusterSecretManifest } from './cluster-secret.ts';
import type { LinkOptions } from './options.ts';

/**
 * Looks whether the Secret can go where it is to go. Gives whether it is there already.
 *
 * @throws CommandError when the namespace is missing, or another Secret has the cluster's name.
 */
export async function inspectNamespace(
  client: KubeClient,
  { name, namespace }: LinkOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const what = `list secrets in namespace ${namespace}`;
  const path = `/api/v1/namespaces/${namespace}`;
  const linked: string[] = [];
  const labelSelector = `${LABEL_CLUSTER_NAME}=${name}`;
  await client.get(path, { what: `get namespace ${namespace}`, signal }).catch((error: unknown) => {
    throw isNotFound(error) ? namespaceMissing(client, namespace) : error;
  });
  for await (const page of client.list<ApiSecret>(`${path}/secrets`, {
    what,
    signal,
    labelSelector,
  })) {
    if (page.restarted) linked.length = 0;
    for (const { type, metadata } of page.items) {
      if (type === CLUSTER_SECRET_TYPE) linked.push(metadata?.name ?? '');
    }
  }
  const other = linked.find((each) => each !== secretName(name));
  if (other === undefined) return linked.length > 0;
  throw new CommandError(
    `secret ${namespace}/${other} links a cluster called ${name} already, and of two the older one ` +
      'counts: delete it, or choose another --name',
  );
}

function namespaceMissing(client: KubeClient, namespace: string): CommandError {
  return new CommandError(
    `namespace ${namespace} is not there on ${client.server}: create it, or say with --namespace ` +
      'where this Tether looks for cluster Secrets',
  );
}

/** Applies the Secret. @throws CommandError when others hold its fields and `force` is not set. */
export async function applySecret(
  client: KubeClient,
  secret: ClusterSecretManifest,
  force: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace } = secret.metadata;
  const path = `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const shown = `secret ${namespace}/${name}`;
  await serverSideApply(client, { name: shown, path, object: secret, force }, signal);
}
