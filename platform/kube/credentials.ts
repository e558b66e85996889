import { readFile } from 'node:fs/promises';
import { InvalidInputError } from '../../core/errors.ts';
import { errorCode } from './error-code.ts';

/** PEM texts. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Something that is mostly at hand, and sometimes has to be read or asked for. */
export type MaybePromise<T> = T | Promise<T>;

/**
 * How Tether proves who it is to one API server. Values come from memory wherever possible, since
 * `authorization` is asked for every request; nothing of them may reach a log or an error text.
 */
export interface Credentials {
  /** The value of the Authorization header; undefined: none is sent. */
  authorization(): MaybePromise<string | undefined>;
  /** Asked for every new connection. */
  clientCertificate(): MaybePromise<ClientCertificate | undefined>;
  /** The server answered 401: what was read from files or plugins is asked for anew. */
  refused(): void;
}

/** How long a file of a token or certificate is believed, in ms: Kubernetes rotates well ahead. */
const FILE_MAX_AGE_MS = 60_000;
/** A server that answers 401 to everything must not make every request read the file. */
const REFUSED_MIN_AGE_MS = 5_000;

/** Fixed credentials: a token, user and password, a certificate, or nothing at all. */
export function staticCredentials(given: {
  readonly authorization?: string;
  readonly certificate?: ClientCertificate;
}): Credentials {
  return {
    authorization: () => given.authorization,
    clientCertificate: () => given.certificate,
    refused: () => undefined,
  };
}

/** `Bearer …`; an InvalidInputError, which does not quote it, when no header can carry the token. */
export function bearer(token: string, field: string): string {
  const trimmed = token.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return `Bearer ${trimmed}`;
  const problem = trimmed === '' ? 'is empty' : 'holds characters that no HTTP header can carry';
  throw new InvalidInputError(field, `${field} ${problem}`);
}

/** `Basic …` of RFC 7617. */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Credentials whose token, certificate or key live in files that somebody else rotates. */
export function fileCredentials(files: {
  readonly authorization?: string;
  readonly tokenFile?: string;
  readonly certificate?: () => Promise<ClientCertificate>;
}): Credentials {
  const tokenFile = files.tokenFile;
  const token =
    tokenFile === undefined
      ? undefined
      : remembered(async () => bearer(await readPem(tokenFile, 'tokenFile'), 'tokenFile'));
  const certificate = files.certificate === undefined ? undefined : remembered(files.certificate);
  return {
    authorization: () => (token === undefined ? files.authorization : token.get()),
    clientCertificate: () => certificate?.get(),
    refused() {
      token?.doubt();
      certificate?.doubt();
    },
  };
}

/** Reads a file of a kubeconfig; an InvalidInputError names the field and the path, not the content. */
export async function readPem(path: string, field: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = errorCode(error) ?? 'unreadable';
    throw new InvalidInputError(field, `${field}: the file ${path} cannot be read (${code})`);
  }
}

interface Remembered<T> {
  get(): MaybePromise<T>;
  doubt(): void;
}

/**
 * A value that is made again when it is older than `maxAgeMs`. One making at a time; where making it
 * again fails the last value goes on being used, since a rotation may be half written.
 */
function remembered<T>(make: () => Promise<T>, maxAgeMs = FILE_MAX_AGE_MS): Remembered<T> {
  let last: { readonly value: T; readonly at: number } | undefined;
  let triedAt = -Infinity;
  let doubted = false;
  let making: Promise<T> | undefined;
  const remake = async (): Promise<T> => {
    triedAt = performance.now();
    doubted = false;
    try {
      const value = await make();
      last = { value, at: triedAt };
      return value;
    } catch (error) {
      if (last === undefined) throw error;
      return last.value;
    } finally {
      making = undefined;
    }
  };
  return {
    get() {
      const age = performance.now() - triedAt;
      const due = age >= maxAgeMs || (doubted && age >= REFUSED_MIN_AGE_MS);
      if (last !== undefined && !due) return last.value;
      making ??= remake();
      return making;
    },
    doubt() {
      doubted = true;
    },
  };
}
