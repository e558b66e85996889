import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { InvalidInputError } from '../../core/errors.ts';
import { invalid } from './kubeconfig-fields.ts';
import { bearer, staticCredentials } from './credentials.ts';
import type { ClientCertificate, Credentials } from './credentials.ts';
import { decodePem } from './kubeconfig-access.ts';
import type { KubeConfigUser } from './kubeconfig-parse.ts';

/** A credential that once was in order has ended; what was made with it need not be in doubt. */
export class CredentialEndedError extends InvalidInputError {}

/** Credentials that live in memory alone, and when the first of them ends (ms since 1970). */
export interface ClusterCredentials {
  readonly credentials: Credentials;
  readonly expiresAt: number | null;
}

/**
 * The credentials of a user whose fields the policy has passed: token and client certificate, inline.
 *
 * @throws InvalidInputError that names the field, for what cannot work now: a certificate that is
 * over or not yet valid, a key of another certificate, an expired token.
 */
export function clusterCredentials(user: KubeConfigUser, source: string): ClusterCredentials {
  const authorization = user.token === undefined ? undefined : bearer(user.token, 'token');
  const tokenEnd = user.token === undefined ? null : tokenExpiry(user.token, source);
  const pair = certificateOf(user, source);
  const ends = [tokenEnd, pair?.expiresAt ?? null].filter((end) => end !== null);
  return {
    credentials: staticCredentials({
      ...(authorization === undefined ? {} : { authorization }),
      ...(pair === null ? {} : { certificate: pair.certificate }),
    }),
    expiresAt: ends.length === 0 ? null : Math.min(...ends),
  };
}

/** PEM of one or more certificates, each of which can be read. @throws InvalidInputError */
export function clusterCa(data: string, source: string): string {
  const field = 'certificate-authority-data';
  const pem = decodePem(data, field, source);
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) {
    throw invalid(source, field, `${field} holds no certificate: embed the CA's PEM in base64`);
  }
  for (const block of blocks) readCertificate(block, field, source);
  return pem;
}

function certificateOf(
  user: KubeConfigUser,
  source: string,
): { readonly certificate: ClientCertificate; readonly expiresAt: number } | null {
  const { certData, keyData } = user;
  if (certData === undefined && keyData === undefined) return null;
  if (certData === undefined || keyData === undefined) {
    const lacks = certData === undefined ? 'client-certificate-data' : 'client-key-data';
    throw invalid(source, lacks, `${lacks} is missing: certificate and key belong together`);
  }
  const cert = decodePem(certData, 'client-certificate-data', source);
  const key = decodePem(keyData, 'client-key-data', source);
  const leaf = readCertificate(cert, 'client-certificate-data', source);
  if (!matches(leaf, readKey(key, source))) {
    throw invalid(
      source,
      'client-key-data',
      'client-key-data is not the key of client-certificate-data: embed the two that belong together',
    );
  }
  return { certificate: { cert, key }, expiresAt: checkValidity(leaf, source) };
}

function readCertificate(pem: string, field: string, source: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw invalid(source, field, `${field} holds a certificate that cannot be read`);
  }
}

function readKey(pem: string, source: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw invalid(
      source,
      'client-key-data',
      'client-key-data holds no private key that can be read: it must be PEM without a passphrase',
    );
  }
}

function matches(certificate: X509Certificate, key: KeyObject): boolean {
  try {
    return certificate.checkPrivateKey(key);
  } catch {
    return false;
  }
}

/** When it ends. */
function checkValidity(leaf: X509Certificate, source: string): number {
  const [from, to] = [leaf.validFromDate.getTime(), leaf.validToDate.getTime()];
  const now = Date.now();
  if (to > now && from <= now) return to;
  const field = 'client-certificate-data';
  const when = to <= now ? `expired at ${isoTime(to)}` : `is not valid before ${isoTime(from)}`;
  const message = `${source}: the certificate in ${field} ${when}: put a valid one into the Secret`;
  throw to <= now
    ? new CredentialEndedError(field, message)
    : new InvalidInputError(field, message);
}

/** `exp` of a JWT, ms since 1970; null for a token that is none, or says nothing of its end. */
function tokenExpiry(token: string, source: string): number | null {
  const exp = jwtExpiry(token.trim());
  if (exp === null || exp > Date.now()) return exp;
  const message = `${source}: the token expired at ${isoTime(exp)}: put a new one into the Secret`;
  throw new CredentialEndedError('token', message);
}

function jwtExpiry(token: string): number | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const exp = (claims as { readonly exp?: unknown } | null)?.exp;
    // What no Date can hold is no time.
    return typeof exp === 'number' && Math.abs(exp) < 8.64e12 ? exp * 1000 : null;
  } catch {
    return null;
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
