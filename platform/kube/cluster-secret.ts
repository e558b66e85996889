import { createHash } from 'node:crypto';
import type { ApiSecret } from '../../core/api-objects.ts';
import {
  ANNOTATION_CLUSTER_DOMAIN,
  ANNOTATION_TRUST_DOMAIN,
  CLUSTER_SECRET_TYPE,
  LABEL_CLUSTER_NAME,
} from '../../core/names.ts';
import { isDnsSubdomain } from '../../core/object-key.ts';
import { clusterCa, clusterCredentials } from './cluster-credentials.ts';
import { addressRuleOf, checkPolicy, type ClusterPolicy } from './cluster-policy.ts';
import type { AddressRule } from './connect.ts';
import type { KubeAccess } from './kubeconfig-access.ts';
import { invalid } from './kubeconfig-fields.ts';
import { parseKubeConfig, selectContext } from './kubeconfig-parse.ts';

export type { ClusterPolicy } from './cluster-policy.ts';

/** What a cluster Secret says, checked. `access` holds credentials: it stays in this process. */
export interface ClusterContent {
  /** Name of the cluster. */
  readonly cluster: string;
  readonly trustDomain: string;
  readonly clusterDomain: string;
  /** SHA-256 over all that matters, in hex: see `contentHash`. */
  readonly hash: string;
  /** `host:port`. */
  readonly server: string;
  /** When the client certificate or the token ends, ms since 1970; null when neither says so. */
  readonly expiresAt: number | null;
  readonly access: KubeAccess;
  /** For every connection that `access` makes; undefined: none is refused. */
  readonly addressRule: AddressRule | undefined;
}

const KUBECONFIG = 'kubeconfig';
/** etcd takes no larger Secret either. */
const MOST_BYTES = 1_000_000;
/** Entries, roughly; with more of them parsing would hold up the process. */
const MOST_SIGNS = 20_000;
const DEEPEST = 40;
const LONGEST_DOMAIN = 253;

/** Whether a Secret claims to describe a cluster; `readClusterSecret` says whether it does so well. */
export function isClusterSecret(secret: ApiSecret): boolean {
  return secret.type === CLUSTER_SECRET_TYPE && clusterNameOf(secret) !== undefined;
}

/** The value of the label; undefined without it. It need not be a valid name. */
export function clusterNameOf(secret: ApiSecret): string | undefined {
  return secret.metadata?.labels?.[LABEL_CLUSTER_NAME];
}

/** SHA-256 in hex of what may change a cluster: the kubeconfig's bytes, its name, its two domains. */
export function contentHash(secret: ApiSecret): string {
  const text = (value: string | undefined): string => value ?? '';
  const annotations = secret.metadata?.annotations;
  const parts = [
    text(clusterNameOf(secret)),
    text(annotations?.[ANNOTATION_TRUST_DOMAIN]),
    text(annotations?.[ANNOTATION_CLUSTER_DOMAIN]),
    text(secret.data?.[KUBECONFIG]),
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/**
 * Reads a cluster Secret under the operator's policy: of its kubeconfig the current context alone,
 * and of that what is inline. No file is opened, nothing is run, no name is resolved.
 *
 * @throws InvalidInputError, one sentence for a person that names the field and what to do and
 * quotes no credential, for a Secret that cannot be used as it is.
 */
export async function readClusterSecret(
  secret: ApiSecret,
  policy: ClusterPolicy,
): Promise<ClusterContent> {
  const { namespace = '', name = '' } = secret.metadata ?? {};
  const source = `Secret ${namespace}/${name}`;
  const cluster = clusterNameOf(secret) ?? '';
  if (!isDnsSubdomain(cluster)) {
    const wanted = 'must be the name of the cluster: lower case, digits, "-" and "."';
    throw invalid(source, LABEL_CLUSTER_NAME, `the label ${LABEL_CLUSTER_NAME} ${wanted}`);
  }
  const trustDomain = domain(secret, ANNOTATION_TRUST_DOMAIN, source);
  const clusterDomain = domain(secret, ANNOTATION_CLUSTER_DOMAIN, source);
  const text = kubeconfigText(secret, source);
  const context = selectContext(parseKubeConfig(text, source), undefined, source);
  const route = checkPolicy(context, policy, source);
  const { caData, insecure, tlsServerName } = context.cluster;
  const { credentials, expiresAt } = clusterCredentials(context.user, source);
  return {
    cluster,
    trustDomain,
    clusterDomain,
    hash: contentHash(secret),
    server: hostAndPort(route.server),
    expiresAt,
    access: {
      ...route,
      insecure,
      credentials,
      ...(caData === undefined ? {} : { ca: clusterCa(caData, source) }),
      ...(tlsServerName === undefined ? {} : { tlsServerName }),
    },
    addressRule: addressRuleOf(policy),
  };
}

function domain(secret: ApiSecret, annotation: string, source: string): string {
  const value = (secret.metadata?.annotations?.[annotation] ?? '').trim();
  if (/^[!-~]+$/.test(value) && value.length <= LONGEST_DOMAIN) return value;
  const problem = value === '' ? 'is missing or empty' : 'is not a domain';
  const example =
    annotation === ANNOTATION_TRUST_DOMAIN ? 'root.linkerd.cluster.local' : 'cluster.local';
  throw invalid(
    source,
    annotation,
    `the annotation ${annotation} ${problem}: set it to the other cluster's, such as ${example}`,
  );
}

function kubeconfigText(secret: ApiSecret, source: string): string {
  const data = secret.data?.[KUBECONFIG] ?? '';
  const wrong = (problem: string): Error =>
    invalid(source, KUBECONFIG, `data.kubeconfig ${problem}`);
  if (data === '')
    throw wrong('is missing or empty: put the kubeconfig of the other cluster there');
  if (data.length > (MOST_BYTES * 4) / 3 + 4)
    throw wrong('has more than 1 MB: keep one context only');
  const text = Buffer.from(data, 'base64').toString('utf8');
  if ((text.match(/[\n,:?[{]|- /g)?.length ?? 0) > MOST_SIGNS) {
    throw wrong('has too many entries: keep one context only');
  }
  if (deeplyNested(text)) throw wrong('is nested too deeply for a kubeconfig');
  return text;
}

/** YAML nests by brackets, and by `- - -` within a line; by indentation no text of ours gets deep. */
function deeplyNested(text: string): boolean {
  let depth = 0;
  for (const [sign] of text.matchAll(/[[\]{}]/g)) {
    depth += sign === '[' || sign === '{' ? 1 : -1;
    if (depth > DEEPEST) return true;
  }
  return new RegExp(`(?:[-?:][ \\t]+){${DEEPEST},}`).test(text);
}

/** `host:port` of a URL, the port of the scheme where it names none. */
function hostAndPort(server: string): string {
  const { hostname, port, protocol } = new URL(server);
  return `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
}
