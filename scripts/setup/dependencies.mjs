import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { NODE, pathWithoutTools, run } from './run.mjs';
import { ROOT, SetupError, step } from './say.mjs';

const MODULES = join(ROOT, 'node_modules');

/** Installs the npm packages when they are not those of package-lock.json. */
export async function ensureDependencies() {
  if (isInstalled()) return;
  await step('npm ci (the packages of package-lock.json)', async () => {
    // Not with the Node of node_modules, which npm is about to remove.
    const env = { ...process.env, PATH: pathWithoutTools().join(delimiter) };
    const code = await run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], { env });
    if (code !== 0) {
      throw new SetupError(`npm ci ended with ${code}. Its own messages above say why`);
    }
  });
  if (!existsSync(NODE)) {
    throw new SetupError(
      `npm ci did not bring ${NODE}: its install script did not run. Allow install scripts ` +
        '(npm config set ignore-scripts false) and run this again',
    );
  }
}

/** Makes `npx tether` work in the clone: npm links the commands of dependencies alone. */
export function ensureTetherLink() {
  const bin = join(ROOT, 'cli', 'bin.js');
  if (!existsSync(bin)) return;
  const link = join(MODULES, '.bin', 'tether');
  if (existsSync(link)) return;
  rmSync(link, { force: true });
  symlinkSync(join('..', '..', 'cli', 'bin.js'), link);
  chmodSync(bin, 0o755);
}

/**
 * npm notes what it installed in node_modules/.package-lock.json, as the last thing it does.
 * Comparing contents finds a changed lock file and an install that broke off, and takes an install
 * that someone made by hand for what it is.
 */
function isInstalled() {
  if (!existsSync(NODE)) return false;
  const wanted = packagesOf(join(ROOT, 'package-lock.json'));
  const present = packagesOf(join(MODULES, '.package-lock.json'));
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true;
    const found = present[path];
    // Packages for other systems are in the lock file and rightly not here.
    return found === undefined ? Boolean(optional || devOptional) : found.version === version;
  });
}

function packagesOf(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages ?? {};
  } catch {
    return {};
  }
}
