import { stringify } from 'yaml';
import {
  ANNOTATION_CLUSTER_DOMAIN,
  ANNOTATION_TRUST_DOMAIN,
  CLUSTER_SECRET_TYPE,
  LABEL_CLUSTER_NAME,
} from '../../core/names.ts';
import type { KubeAccess } from '../../platform/kube/kubeconfig.ts';
import type { LinkOptions } from './options.ts';

/** A cluster Secret as it is applied. */
export interface ClusterSecretManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly type: string;
  /** Base64. */
  readonly data: { readonly kubeconfig: string };
}

/** What the Secret of a cluster is called; the name that Linkerd's tools give it, too. */
export function secretName(cluster: string): string {
  return `cluster-credentials-${cluster}`;
}

/** The Secret that links a cluster, with a kubeconfig that names nothing but what is in it. */
export function clusterSecret(
  options: LinkOptions,
  remote: KubeAccess,
  token: string,
): ClusterSecretManifest {
  const { name, namespace, trustDomain, clusterDomain } = options;
  const kubeconfig = stringify(kubeconfigOf(options, remote, token));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: secretName(name),
      namespace,
      labels: { [LABEL_CLUSTER_NAME]: name },
      annotations: {
        [ANNOTATION_TRUST_DOMAIN]: trustDomain,
        [ANNOTATION_CLUSTER_DOMAIN]: clusterDomain,
      },
    },
    type: CLUSTER_SECRET_TYPE,
    data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
  };
}

function kubeconfigOf({ name, server, account }: LinkOptions, remote: KubeAccess, token: string) {
  const cluster = {
    server: server ?? remote.server,
    ...(remote.ca === undefined
      ? {}
      : { 'certificate-authority-data': Buffer.from(remote.ca).toString('base64') }),
    ...(remote.insecure ? { 'insecure-skip-tls-verify': true } : {}),
    ...(remote.tlsServerName === undefined ? {} : { 'tls-server-name': remote.tlsServerName }),
    // Another address is reached another way.
    ...(remote.proxyUrl === undefined || server !== undefined
      ? {}
      : { 'proxy-url': remote.proxyUrl }),
  };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name: account.name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: account.name } }],
    'current-context': name,
  };
}
