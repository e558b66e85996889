import { createKubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { clusterSecret } from '../../test/support/cluster-secret.ts';

/** The cluster Secrets of a run. */
export interface Secrets {
  readonly namespace: string;
  create(cluster: string, kubeconfig: string): Promise<void>;
  /** Another kubeconfig in the same Secret. */
  rotate(cluster: string, kubeconfig: string): Promise<void>;
  remove(cluster: string): Promise<void>;
  close(): Promise<void>;
}

/** Makes the namespace of the Secrets in the cluster that is served. */
export async function openSecrets(kubeconfig: string, namespace: string): Promise<Secrets> {
  const client = createKubeClient(await loadKubeConfig({ path: kubeconfig, env: {} }));
  await client.create('/api/v1/namespaces', { metadata: { name: namespace } }, { what: namespace });
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const send = (how: 'create' | 'replace', cluster: string, text: string): Promise<unknown> => {
    const to = how === 'create' ? path : `${path}/${nameOf(cluster)}`;
    return client[how](to, clusterSecret(nameOf(cluster), cluster, text), {
      what: `${how} secret ${cluster}`,
    });
  };
  return {
    namespace,
    create: async (cluster, text) => void (await send('create', cluster, text)),
    rotate: async (cluster, text) => void (await send('replace', cluster, text)),
    remove: async (cluster) => {
      const what = `delete secret ${cluster}`;
      await client.delete(`${path}/${nameOf(cluster)}`, undefined, { what });
    },
    close: () => client.close(),
  };
}

const nameOf = (cluster: string): string => `link-${cluster}`;
