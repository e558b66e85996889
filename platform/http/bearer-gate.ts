import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describeError, InvalidInputError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

export interface TokenOptions {
  /** The option that gives the token, such as `lookup-token`; `-file` after it: that of its file. */
  readonly flag: string;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
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
 * A gate that wants the configured bearer token; open when there is none.
 *
 * @throws InvalidInputError when both ways to give one are used, or the file holds none.
 */
export function createGate({ flag, token, tokenFile }: TokenOptions, log: Logger): Gate {
  const fileFlag = `${flag}-file`;
  if (token !== undefined && tokenFile !== undefined) {
    throw new InvalidInputError(
      fileFlag,
      `--${fileFlag}: --${flag} is given too; leave one of them out`,
    );
  }
  if (tokenFile !== undefined) return gateByFile(fileFlag, tokenFile, log);
  if (token === undefined) return { guarded: false, admits: () => true, tick: () => undefined };
  const digest = digestOf(token);
  return { guarded: true, admits: (header) => matches(header, digest), tick: () => undefined };
}

/** A file that goes, or is emptied, while this runs leaves the last token in force: nobody gets in by it. */
function gateByFile(flag: string, file: string, log: Logger): Gate {
  let digest = digestOf(readToken(flag, file));
  let failing = false;
  return {
    guarded: true,
    admits: (header) => matches(header, digest),
    tick: () => {
      try {
        digest = digestOf(readToken(flag, file));
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

function matches(header: string | undefined, digest: Buffer): boolean {
  const [, sent] = /^bearer +(\S+)$/i.exec(header ?? '') ?? [];
  return sent !== undefined && timingSafeEqual(digestOf(sent), digest);
}
