import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The absolute path of a file that ships with Tether, given as from the root of the package. Sources
 * and the bundle in dist/ lie at different depths below that root, but read the same files.
 *
 * @throws Error when it is not there: the package is broken.
 */
export function packageFile(path: string): string {
  const file = join(root, path);
  if (!existsSync(file)) throw new Error(`${path} is not among Tether's files (${root})`);
  return file;
}

/** Which release this is, as in package.json: `0.1.0`. */
export function packageVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

const root = findRoot(dirname(fileURLToPath(import.meta.url)));

function findRoot(folder: string): string {
  const parent = dirname(folder);
  return existsSync(join(folder, 'package.json')) || parent === folder ? folder : findRoot(parent);
}
