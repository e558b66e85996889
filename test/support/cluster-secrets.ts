import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import type { ApiObject, ApiSecret } from '../../core/api-objects.ts';
import {
  ANNOTATION_CLUSTER_DOMAIN,
  ANNOTATION_TRUST_DOMAIN,
  CLUSTER_SECRET_TYPE,
  LABEL_CLUSTER_NAME,
} from '../../core/names.ts';
import { api, apiOk } from './api.ts';

/** The parts of a kubeconfig with one of everything. */
export interface KubeconfigParts {
  readonly cluster?: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
}

/** A kubeconfig of one context as YAML; the server is https://east.example:6443 unless said otherwise. */
export function kubeconfigOf({ cluster = {}, user = { token: 'token' } }: KubeconfigParts): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'east',
    clusters: [{ name: 'east', cluster: { server: 'https://east.example:6443', ...cluster } }],
    users: [{ name: 'east', user }],
    contexts: [{ name: 'east', context: { cluster: 'east', user: 'east' } }],
  });
}

/** Cluster and user of a kubeconfig file that holds one of each, to be changed and used in a Secret. */
export function partsOfFile(path: string): Required<KubeconfigParts> {
  const config = parse(readFileSync(path, 'utf8')) as {
    readonly clusters: readonly { readonly cluster: Record<string, unknown> }[];
    readonly users: readonly { readonly user: Record<string, unknown> }[];
  };
  return { cluster: config.clusters[0]?.cluster ?? {}, user: config.users[0]?.user ?? {} };
}

export interface ClusterSecretInput {
  readonly namespace?: string;
  readonly name?: string;
  /** Value of the label; null: no label. */
  readonly cluster?: string | null;
  readonly type?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly kubeconfig?: string;
}

/** A cluster Secret that is right in all that is not said. */
export function clusterSecret(input: ClusterSecretInput = {}): ApiSecret {
  const { namespace = 'tether', name = 'east', cluster = 'east', kubeconfig } = input;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: input.type ?? CLUSTER_SECRET_TYPE,
    metadata: {
      namespace,
      name,
      labels: cluster === null ? {} : { [LABEL_CLUSTER_NAME]: cluster },
      annotations: input.annotations ?? {
        [ANNOTATION_TRUST_DOMAIN]: 'root.east.example',
        [ANNOTATION_CLUSTER_DOMAIN]: 'east.local',
      },
    },
    data: { kubeconfig: Buffer.from(kubeconfig ?? kubeconfigOf({})).toString('base64') },
  };
}

export function secretPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/secrets/${name}`;
}

/** Creates the Secret, or replaces it by this one. */
export async function putSecret(
  input: ClusterSecretInput & { namespace: string },
): Promise<ApiObject> {
  const body = clusterSecret(input);
  const { namespace } = input;
  const path = secretPath(namespace, body.metadata?.name ?? '');
  const there = (await api('GET', path)).status === 200;
  const [method, at] = there ? ['PUT', path] : ['POST', `/api/v1/namespaces/${namespace}/secrets`];
  return (await apiOk(method, at, body)) as ApiObject;
}
