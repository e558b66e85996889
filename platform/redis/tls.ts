import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions, type SecureContext } from 'node:tls';
import { describeError, InvalidInputError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

/** What TLS to Redis needs beside the URL. */
export interface RedisTls {
  /** PEM of the CAs that are trusted; default: those that Node comes with. */
  readonly caFile?: string;
  /** PEM of the client's certificate, and of its key. */
  readonly certFile?: string;
  readonly keyFile?: string;
  /** The name that the server's certificate must have; default: the host of the URL. */
  readonly serverName?: string;
}

type Files = Pick<RedisTls, 'caFile' | 'certFile' | 'keyFile'>;

/**
 * Options as ioredis hands them to node:tls. It copies them for each connection, and each time the files are
 * looked at again: a certificate that was renewed is used from the next connection on. Files that cannot be
 * read any more, or do not fit together (one was replaced, the other is about to be), are complained of,
 * and what they held before goes on: ioredis would never connect again.
 *
 * @throws InvalidInputError when there is nothing to begin with; `field` is the flag.
 */
export function tlsOptions({ serverName, ...files }: RedisTls, log: Logger): ConnectionOptions {
  let texts = read(files);
  let context = build(texts, files);
  const renew = (): SecureContext => {
    try {
      const now = read(files);
      if (!isSame(now, texts)) context = build(now, files);
      texts = now;
    } catch (error) {
      log.warn(
        { error: describeError(error) },
        'Redis: TLS goes on with what its files held before',
      );
    }
    return context;
  };
  return {
    ...(serverName === undefined ? {} : { servername: serverName }),
    get secureContext() {
      return renew();
    },
  };
}

type Texts = Readonly<Record<'ca' | 'cert' | 'key', string | undefined>>;

function read({ caFile, certFile, keyFile }: Files): Texts {
  return {
    ca: readPem('redis-ca-file', caFile),
    cert: readPem('redis-cert-file', certFile),
    key: readPem('redis-key-file', keyFile),
  };
}

function readPem(flag: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new InvalidInputError(flag, `--${flag} ${file}: ${describeError(error)}`);
  }
  if (text.includes('-----BEGIN ')) return text;
  throw new InvalidInputError(
    flag,
    `--${flag} ${file}: that is no PEM ("-----BEGIN …" is missing)`,
  );
}

function build({ ca, cert, key }: Texts, files: Files): SecureContext {
  try {
    return createSecureContext({ ca, cert, key });
  } catch (error) {
    const names = [files.caFile, files.certFile, files.keyFile].filter(
      (name) => name !== undefined,
    );
    throw new InvalidInputError(
      'redis-cert-file',
      `the TLS files for Redis (${names.join(', ')}) do not work: ${describeError(error)}`,
    );
  }
}

function isSame(a: Texts, b: Texts): boolean {
  return a.ca === b.ca && a.cert === b.cert && a.key === b.key;
}

/** What node:tls says of a certificate that it does not trust, by code. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);

/** What it says of one that is not valid now. */
const OUT_OF_DATE: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']);

/** Why TLS with a server comes to nothing, if that is what an error says; waiting does not help. */
export function tlsFaultOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : '';
  const message = describeError(error);
  if (typeof code !== 'string') return undefined;
  if (UNTRUSTED.has(code)) {
    return `shows a certificate that is not trusted (${message}): give its CA by --redis-ca-file`;
  }
  if (OUT_OF_DATE.has(code)) {
    return (
      `shows a certificate that is not valid now (${message}): ` +
      "renew it, or set the clocks right, the server's and this machine's"
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `shows a certificate for another name (${message}): give its name by --redis-tls-server-name`;
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG') {
    return 'does not speak TLS: the URL begins with rediss, which is for TLS';
  }
  if (code.startsWith('ERR_SSL_') && message.includes('alert')) {
    return `refuses the TLS of this client (${message}): give its certificate by --redis-cert-file`;
  }
  return undefined;
}
