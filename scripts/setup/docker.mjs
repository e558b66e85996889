import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from './run.mjs';
import { SetupError, step } from './say.mjs';

/** What Debian calls the programs that a Docker of our own takes. */
const PACKAGES = {
  dockerd: 'docker.io',
  'docker-compose': 'docker-compose',
  debootstrap: 'debootstrap',
};

/** What ends a run that cannot be had on this machine: automake's code for a test that was skipped. */
const NOT_HERE = 77;

/** Sees to Docker and compose: what runs here, else what it takes to start a Docker of our own. */
export async function ensureDocker() {
  if ((await succeeds('docker', ['version'])) && (await hasCompose())) return;
  const missing = Object.keys(PACKAGES).filter((program) => !isOnPath(program));
  if (process.getuid?.() !== 0) {
    throw notHere('no Docker runs here that this user may use, and only root can start one');
  }
  if (missing.length === 0) return;
  if (!isOnPath('apt-get')) {
    throw notHere(
      `no Docker runs here, ${missing.join(', ')} to start one are missing, and there is no apt-get`,
    );
  }
  const packages = missing.map((program) => PACKAGES[program]);
  await step(`apt-get install ${packages.join(' ')}`, () => install(packages));
}

async function install(packages) {
  await apt(['update', '-qq']);
  await apt(['install', '-y', '-qq', '--no-install-recommends', ...packages]);
}

async function apt(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // Its report goes to standard error: standard output belongs to the command that is set up for.
  const code = await run('apt-get', args, { env, stdio: ['ignore', 2, 2] });
  if (code !== 0) throw notHere(`apt-get ${args[0]} ended with ${code}, see above`);
}

async function hasCompose() {
  return isOnPath('docker-compose') || (await succeeds('docker', ['compose', 'version']));
}

function notHere(why) {
  return new SetupError(
    `${why}. Start Docker with compose, or run this as root on Debian`,
    NOT_HERE,
  );
}

async function succeeds(command, args) {
  if (!isOnPath(command)) return false;
  return (await run(command, args, { stdio: 'ignore' })) === 0;
}

function isOnPath(name) {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => folder !== '' && existsSync(join(folder, name)));
}
