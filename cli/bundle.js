// The bundle that `npm run build` makes in dist/: all of Tether and of its packages in a few files, which
// load in two thirds of the time. Plain JavaScript without packages, since every start reads it first.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Relative to the root of the package. */
export const BUNDLE = 'dist/main.js';
export const INPUTS = 'dist/inputs.json';

/** The bundle's path, unless there is none or a source of it has changed since. */
export function freshBundle() {
  try {
    const inputs = JSON.parse(readFileSync(at(INPUTS), 'utf8'));
    return existsSync(at(BUNDLE)) && inputs.every(isUnchanged) ? at(BUNDLE) : undefined;
  } catch {
    return undefined;
  }
}

/** What a file is recognised by. */
export function stampOf(path) {
  const { size, mtimeMs } = statSync(at(path));
  return { path, size, mtimeMs };
}

function isUnchanged({ path, size, mtimeMs }) {
  const now = stampOf(path);
  return now.size === size && now.mtimeMs === mtimeMs;
}
