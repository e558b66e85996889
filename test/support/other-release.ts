import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
/** What no process of Tether reads. */
const NOT_NEEDED = new Set(['bench', 'demo', 'dist', 'docs', 'examples', 'node_modules', 'test']);

/** The tree as another release has it, on disk. */
export interface OtherRelease {
  /** Its `cli/bin.js`. */
  readonly bin: string;
  /** As the names of its view's keys have it. */
  readonly schema: string;
  remove(): void;
}

/**
 * Copies this tree and makes it another release: its view has another format, as far as names can tell,
 * and no script is the same text.
 */
export function makeOtherRelease(): OtherRelease {
  const dir = mkdtempSync(join(tmpdir(), 'tether-release-'));
  cpSync(ROOT, dir, {
    recursive: true,
    filter: (from) => from === ROOT || !isNotNeeded(from),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  const schema = 'v0';
  edit(join(dir, 'core/codec.ts'), (text) =>
    text.replace(/(VIEW_SCHEMA = )'\w+'/, `$1'${schema}'`),
  );
  edit(join(dir, 'platform/redis/scripts.ts'), (text) =>
    // Every script is read by the one function, and a comment changes its digest.
    text.replace(/return (readFileSync\(.*\));/, 'return `$${$1}\\n-- another release\\n`;'),
  );
  return {
    bin: join(dir, 'cli/bin.js'),
    schema,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

function isNotNeeded(from: string): boolean {
  const name = basename(from);
  return join(ROOT, name) === from && (NOT_NEEDED.has(name) || name.startsWith('.'));
}

function edit(file: string, change: (text: string) => string): void {
  const before = readFileSync(file, 'utf8');
  const after = change(before);
  if (after === before) throw new Error(`${file} is not what a release is made from any more`);
  writeFileSync(file, after);
}
