import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisClient } from './client.ts';
import { packageFile } from '../package-file.ts';

/** A Lua script with its digest, as EVALSHA wants it. */
export interface Script {
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

const prelude = readLua('scripts/prelude');

/** Loads `scripts/<name>.lua`, behind the helpers that the view's scripts share. */
export function loadScript(name: string): Script {
  return toScript(name, `${prelude}\n${readLua(`scripts/${name}`)}`);
}

const clusterPrelude = readLua('clusters/scripts/prelude');

/** Loads `clusters/scripts/<name>.lua`, behind the helpers that the views of linked clusters share. */
export function loadClusterScript(name: string): Script {
  return toScript(name, `${clusterPrelude}\n${readLua(`clusters/scripts/${name}`)}`);
}

/** Loads `queue/scripts/<name>.lua`. */
export function loadQueueScript(name: string): Script {
  return toScript(name, readLua(`queue/scripts/${name}`));
}

function readLua(path: string): string {
  return readFileSync(packageFile(`platform/redis/${path}.lua`), 'utf8');
}

function toScript(name: string, text: string): Script {
  return { name, text, sha: createHash('sha1').update(text).digest('hex') };
}

/**
 * Runs a script in one round trip; a server that does not know it yet (just started, or flushed) gets
 * its text once.
 *
 * @throws ReplyError of ioredis as it is: a script error is a bug, a lost connection is retried by
 * whoever owns the key.
 */
export async function runScript(
  redis: RedisClient,
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await redis.evalsha(script.sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return redis.eval(script.text, keys.length, ...keys, ...args);
  }
}
