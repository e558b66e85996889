import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Script } from '../scripts.ts';

/** Loads `queue/scripts/<name>.lua`. */
export function loadQueueScript(name: string): Script {
  const text = readFileSync(new URL(`./scripts/${name}.lua`, import.meta.url), 'utf8');
  return { name, text, sha: createHash('sha1').update(text).digest('hex') };
}
