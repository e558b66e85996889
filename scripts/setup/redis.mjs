import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from './run.mjs';
import { SetupError, step } from './say.mjs';

/** Installs a Redis server where none is found and none is given, as far as this user may. */
export async function ensureRedis() {
  if (process.env.TETHER_TEST_REDIS_URL || isOnPath('redis-server') || isOnPath('valkey-server')) {
    return;
  }
  if (process.getuid?.() !== 0 || !isOnPath('apt-get')) {
    throw new SetupError(
      'no Redis found: neither redis-server nor valkey-server is on the PATH. Install one ' +
        '(Debian: sudo apt-get install redis-server; macOS: brew install redis) and run this again',
    );
  }
  await step('apt-get install redis-server', async () => {
    await apt(['update', '-qq']);
    await apt(['install', '-y', '-qq', '--no-install-recommends', 'redis-server']);
  });
}

async function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Its report goes to standard error: standard output belongs to the command that is set up for.
  const code = await run('apt-get', args, { env, stdio: ['ignore', 2, 2] });
  if (code !== 0) {
    throw new SetupError(
      `apt-get ${args[0]} ended with ${code}. Install redis-server or valkey-server by hand`,
    );
  }
}

function isOnPath(name) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => folder !== '' && existsSync(join(folder, name)));
}
