import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describeError, InvalidInputError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

export interface TokenOptions {
  /** The option that gives the token, such as `lookup-token`; `-file` after it: that of its file. */
  readonly flag: string;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** Asked for as the password of this user (HTTP Basic), as browsers send it, instead of as a bearer token. */
  readonly user?: string;
}

/** Who may ask. */
export interface Gate {
  /** Whether a token is asked for at all. */
  readonly guarded: boolean;
  /** Takes the request's Authorization header. */
  admits(authorization: string | undefined): boolean;
  /** Reads the file again; to be called each second. */
  tick(): void;
}

/**
 * A gate that wants the configured token or password; open when there is none.
 *
 * @throws InvalidInputError when both ways to give one are used, or the file holds none.
 */
export function createGate(options: TokenOptions, log: Logger): Gate {
  const { flag, token, tokenFile, user } = options;
  const scheme = user === undefined ? BEARER : basic(user);
  const fileFlag = `${flag}-file`;
  if (token !== undefined && tokenFile !== undefined) {
    throw new InvalidInputError(
      fileFlag,
      `--${fileFlag}: --${flag} is given too; leave one of them out`,
    );
  }
  if (tokenFile !== undefined) return gateByFile(fileFlag, tokenFile, scheme, log);
  if (token === undefined) return { guarded: false, admits: () => true, tick: () => undefined };
  const digest = digestOf(scheme.expected(token));
  const admits = (header: string | undefined): boolean => matches(scheme.sent(header), digest);
  return { guarded: true, admits, tick: () => undefined };
}

/** A file that goes, or is emptied, while this runs leaves the last token in force: nobody gets in by it. */
function gateByFile(flag: string, file: string, scheme: Scheme, log: Logger): Gate {
  const read = (): Buffer => digestOf(scheme.expected(readToken(flag, file)));
  let digest = read();
  let failing = false;
  return {
    guarded: true,
    admits: (header) => matches(scheme.sent(header), digest),
    tick: () => {
      try {
        digest = read();
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ error: describeError(error) }, `the token of --${flag} stays`);
        failing = true;
      }
    },
  };
}

function readToken(flag: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new InvalidInputError(flag, `--${flag}: cannot be read: ${describeError(error)}`);
  }
  if (text !== '') return text;
  throw new InvalidInputError(flag, `--${flag}: ${file} is empty`);
}

/** Digests have one length, whatever was sent: comparing them tells nothing about the token. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function matches(sent: string | undefined, digest: Buffer): boolean {
  return sent !== undefined && timingSafeEqual(digestOf(sent), digest);
}

/** How a secret is sent. */
interface Scheme {
  /** What an Authorization header says; undefined when it is of another scheme. */
  sent(header: string | undefined): string | undefined;
  /** What it has to say. */
  expected(secret: string): string;
}

const BEARER: Scheme = {
  sent: (header) => /^bearer +(\S+)$/i.exec(header ?? '')?.[1],
  expected: (secret) => secret,
};

/** RFC 7617. */
function basic(user: string): Scheme {
  return {
    sent: (header) => {
      const [, encoded] = /^basic +(\S+)$/i.exec(header ?? '') ?? [];
      return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString();
    },
    expected: (secret) => `${user}:${secret}`,
  };
}
