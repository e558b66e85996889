import type { InvalidInputError } from '../../core/errors.ts';
import { hostAllowed, localAddress, plainHost, refuseLocalAddresses } from './cluster-addresses.ts';
import type { AddressRule } from './connect.ts';
import { checkProxy, checkServer } from './kubeconfig-access.ts';
import { invalid } from './kubeconfig-fields.ts';
import type { KubeConfigCluster, KubeConfigUser, SelectedContext } from './kubeconfig-parse.ts';

/** What the operator lets cluster Secrets do. */
export interface ClusterPolicy {
  /** Loopback, link-local, unspecified and multicast addresses. */
  readonly allowLoopback: boolean;
  /** Plain http, and servers whose certificate is not checked. */
  readonly allowInsecureTls: boolean;
  /** Exact hosts or `*.suffix`; empty: any. */
  readonly allowHosts: readonly string[];
}

/** Where a Secret's requests go; both are URLs. */
export interface ClusterRoute {
  readonly server: string;
  readonly proxyUrl?: string;
}

/** The rule for addresses connected to; undefined: any. */
export function addressRuleOf(policy: ClusterPolicy): AddressRule | undefined {
  return policy.allowLoopback ? undefined : refuseLocalAddresses;
}

const EMBED = 'embed it (kubectl config view --minify --flatten --raw does)';
const NO_PLUGIN = 'use a token or a client certificate instead';
const NO_PASSWORD = `is a way to log in that Kubernetes has given up: ${NO_PLUGIN}`;
const NO_IMPERSONATION = 'impersonates somebody: use credentials that have the rights themselves';

/** Each field that would run, read or become something on our side, and what to do instead. */
const REFUSED_OF_USER: readonly (readonly [keyof KubeConfigUser, field: string, why: string])[] = [
  ['exec', 'exec', `runs a program: ${NO_PLUGIN}`],
  ['authProvider', 'auth-provider', `runs a plugin: ${NO_PLUGIN}`],
  ['tokenFile', 'tokenFile', 'names a file: put the token itself into token'],
  ['certFile', 'client-certificate', `names a file: ${EMBED} as client-certificate-data`],
  ['keyFile', 'client-key', `names a file: ${EMBED} as client-key-data`],
  ['username', 'username', NO_PASSWORD],
  ['password', 'password', NO_PASSWORD],
  ['impersonateUser', 'as', NO_IMPERSONATION],
  ['impersonateUid', 'as-uid', NO_IMPERSONATION],
  ['impersonateGroups', 'as-groups', NO_IMPERSONATION],
  ['impersonateExtra', 'as-user-extra', NO_IMPERSONATION],
];

/**
 * Checks what a Secret's current context wants to do; nothing is opened, run or resolved.
 *
 * @throws InvalidInputError that names the field and says what to do, and quotes no value but the
 * host of the server.
 */
export function checkPolicy(
  context: SelectedContext,
  policy: ClusterPolicy,
  source: string,
): ClusterRoute {
  const { user, cluster } = context;
  for (const [key, field, why] of REFUSED_OF_USER) {
    if (user[key] !== undefined) throw refuse(source, field, why);
  }
  if (cluster.caFile !== undefined) {
    const why = `names a file: ${EMBED} as certificate-authority-data`;
    throw refuse(source, 'certificate-authority', why);
  }
  const server = checkServer(cluster.server, source);
  checkTls(cluster, server, policy, source);
  checkHost(server, 'server', policy, source);
  if (cluster.proxyUrl === undefined) return { server };
  const proxyUrl = checkProxy(cluster.proxyUrl, source);
  checkHost(proxyUrl, 'proxy-url', policy, source);
  if (!policy.allowLoopback && proxyUrl.startsWith('socks')) {
    const why = 'is a socks5 proxy, whose addresses cannot be checked: use an http or https one';
    throw refuse(source, 'proxy-url', why);
  }
  return { server, proxyUrl };
}

function checkTls(
  cluster: KubeConfigCluster,
  server: string,
  policy: ClusterPolicy,
  source: string,
): void {
  const field = 'insecure-skip-tls-verify';
  if (cluster.insecure && cluster.caData !== undefined) {
    throw refuse(source, field, 'and certificate-authority-data exclude each other: remove one');
  }
  if (policy.allowInsecureTls) return;
  const unless = 'or start Tether with --clusters-allow-insecure-tls true';
  if (cluster.insecure) {
    const why = `is refused: embed the CA as certificate-authority-data, ${unless}`;
    throw refuse(source, field, why);
  }
  if (server.startsWith('http:')) {
    throw refuse(source, 'server', `uses plain http: name an https:// URL, ${unless}`);
  }
}

function checkHost(
  url: string,
  field: 'server' | 'proxy-url',
  policy: ClusterPolicy,
  source: string,
): void {
  const host = plainHost(new URL(url).hostname);
  if (host === '') throw refuse(source, field, 'names no host');
  if (!hostAllowed(host, policy.allowHosts)) {
    throw refuse(source, field, `names ${host}, which --clusters-allow-hosts does not list`);
  }
  if (policy.allowLoopback) return;
  const reason = localAddress(host);
  if (reason === undefined) return;
  const unless = 'name an address that this cluster can reach, or start Tether with';
  throw refuse(source, field, `names ${host}, ${reason}: ${unless} --clusters-allow-loopback true`);
}

function refuse(source: string, field: string, why: string): InvalidInputError {
  return invalid(source, field, `${field} ${why}`);
}
