import { InvalidInputError } from '../../core/errors.ts';
import type { ClientCertificate, Credentials } from './credentials.ts';
import { basic, bearer, fileCredentials, readPem, staticCredentials } from './credentials.ts';
import { execCredentials } from './exec-credentials.ts';
import type { KubeConfigUser, SelectedContext } from './kubeconfig-parse.ts';

/** All that a client needs to reach one API server. */
export interface KubeAccess {
  /** URL with scheme, and the path prefix where there is one; no slash at its end. */
  readonly server: string;
  readonly namespace?: string;
  /** PEM; absent: the CAs that Node trusts. */
  readonly ca?: string;
  /** True: any certificate is accepted. */
  readonly insecure: boolean;
  readonly tlsServerName?: string;
  /** http, https or socks5; may hold a password. */
  readonly proxyUrl?: string;
  /** Sent with every request: impersonation. Names and values in turn. */
  readonly headers?: readonly string[];
  readonly credentials: Credentials;
}

/**
 * Turns a context into what a client needs; reads the files that it names.
 *
 * @throws InvalidInputError naming the field, never its content.
 */
export async function accessOf(selected: SelectedContext, source: string): Promise<KubeAccess> {
  const { cluster, user } = selected;
  const server = checkServer(cluster.server, source);
  const ca = await caOf(selected, source);
  if (cluster.insecure && ca !== undefined) {
    throw new InvalidInputError(
      'certificate-authority',
      `${source}: insecure-skip-tls-verify and a certificate-authority exclude each other; remove one`,
    );
  }
  const headers = impersonation(user);
  return {
    server,
    insecure: cluster.insecure,
    credentials: await credentialsOf(selected, source),
    ...(selected.namespace === undefined ? {} : { namespace: selected.namespace }),
    ...(ca === undefined ? {} : { ca }),
    ...(cluster.tlsServerName === undefined ? {} : { tlsServerName: cluster.tlsServerName }),
    ...(cluster.proxyUrl === undefined ? {} : { proxyUrl: checkProxy(cluster.proxyUrl, source) }),
    ...(headers.length === 0 ? {} : { headers }),
  };
}

/** Decodes a `…-data` field. @throws InvalidInputError when it is not base64 of a PEM text. */
export function decodePem(data: string, field: string, source: string): string {
  const text = Buffer.from(data, 'base64').toString('utf8');
  if (text.includes('-----BEGIN ')) return text;
  throw new InvalidInputError(field, `${source}: ${field} must be base64 of a PEM text`);
}

/** The server's URL as `KubeAccess` holds it. @throws InvalidInputError, which does not quote it. */
export function checkServer(server: string | undefined, source: string): string {
  if (server === undefined)
    throw new InvalidInputError('server', `${source}: the cluster has no server`);
  // kubectl takes "localhost:8080" for http.
  const full = server.includes('://') ? server : `http://${server}`;
  const url = URL.parse(full);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidInputError('server', `${source}: server must be an http or https URL`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidInputError('server', `${source}: server may not hold a user or password`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

/** @throws InvalidInputError, which does not quote the URL: it may hold a password. */
export function checkProxy(proxyUrl: string, source: string): string {
  const url = URL.parse(proxyUrl);
  if (url === null || !/^(https?|socks5):$/.test(url.protocol)) {
    throw new InvalidInputError('proxy-url', `${source}: proxy-url must be http, https or socks5`);
  }
  if (isDecodable(url.username) && isDecodable(url.password)) return proxyUrl;
  const what = 'the user or password of proxy-url has a "%" that begins no escape: write it as %25';
  throw new InvalidInputError('proxy-url', `${source}: ${what}`);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

async function caOf({ cluster }: SelectedContext, source: string): Promise<string | undefined> {
  if (cluster.caData !== undefined) {
    return decodePem(cluster.caData, 'certificate-authority-data', source);
  }
  if (cluster.caFile === undefined) return undefined;
  return readPem(cluster.caFile, 'certificate-authority');
}

async function credentialsOf(selected: SelectedContext, source: string): Promise<Credentials> {
  const { user, cluster } = selected;
  // A plugin may well be what gives the certificate, so a token beside it does not count.
  if (user.exec !== undefined || user.authProvider !== undefined) {
    return execCredentials(user, cluster);
  }
  const authorization = authorizationOf(user);
  const certificate = certificateReader(user, source);
  if (certificate === undefined && user.tokenFile === undefined) {
    return staticCredentials(authorization === undefined ? {} : { authorization });
  }
  const fromFiles = [user.certFile, user.keyFile, user.tokenFile].some(
    (file) => file !== undefined,
  );
  if (!fromFiles && certificate !== undefined) {
    const inline = await certificate();
    return staticCredentials({
      ...(authorization === undefined ? {} : { authorization }),
      certificate: inline,
    });
  }
  const credentials = fileCredentials({
    ...(authorization === undefined ? {} : { authorization }),
    ...(user.tokenFile === undefined ? {} : { tokenFile: user.tokenFile }),
    ...(certificate === undefined ? {} : { certificate }),
  });
  // Now, so that a missing file is told at the start and not by the first request.
  await credentials.authorization();
  await credentials.clientCertificate();
  return credentials;
}

function authorizationOf(user: KubeConfigUser): string | undefined {
  if (user.token !== undefined) return bearer(user.token, 'token');
  if (user.username === undefined) return undefined;
  return basic(user.username, user.password ?? '');
}

/** Inline data wins over a file, as with kubectl. */
function certificateReader(
  user: KubeConfigUser,
  source: string,
): (() => Promise<ClientCertificate>) | undefined {
  const { certData, certFile, keyData, keyFile } = user;
  const hasCert = certData !== undefined || certFile !== undefined;
  const hasKey = keyData !== undefined || keyFile !== undefined;
  if (!hasCert && !hasKey) return undefined;
  if (!hasCert || !hasKey) {
    const [has, lacks] = hasCert ? ['certificate', 'key'] : ['key', 'certificate'];
    throw new InvalidInputError(
      `client-${lacks}`,
      `${source}: the user has a client-${has} but no client-${lacks}`,
    );
  }
  const read = async (data: string | undefined, file: string | undefined, field: string) =>
    data === undefined ? readPem(file ?? '', field) : decodePem(data, `${field}-data`, source);
  return async () => ({
    cert: await read(certData, certFile, 'client-certificate'),
    key: await read(keyData, keyFile, 'client-key'),
  });
}

/** Leaving these out would silently act with other rights than the user chose. */
function impersonation(user: KubeConfigUser): string[] {
  const headers: string[] = [];
  if (user.impersonateUser !== undefined) headers.push('impersonate-user', user.impersonateUser);
  if (user.impersonateUid !== undefined) headers.push('impersonate-uid', user.impersonateUid);
  for (const group of user.impersonateGroups ?? []) headers.push('impersonate-group', group);
  for (const [key, values] of Object.entries(user.impersonateExtra ?? {})) {
    const name = `impersonate-extra-${encodeURIComponent(key)}`;
    for (const value of [values].flat()) headers.push(name, String(value));
  }
  return headers;
}
