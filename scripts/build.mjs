// Emits dist/ for the package: Node does not strip types under node_modules.
import { cpSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './setup/run.mjs';
import { ROOT } from './setup/say.mjs';

const DIST = join(ROOT, 'dist');
const FOLDERS = ['core', 'functions', 'watcher', 'lookup', 'platform', 'cli'];

rmSync(DIST, { recursive: true, force: true });
process.exitCode = await run('tsc', ['--project', 'tsconfig.build.json']);

// tsc emits TypeScript alone; Lua scripts and the like are read at run time from the same places.
const isNoSource = (path) => statSync(path).isDirectory() || !path.endsWith('.ts');
for (const folder of FOLDERS.filter((name) => existsSync(join(ROOT, name)))) {
  cpSync(join(ROOT, folder), join(DIST, folder), { recursive: true, filter: isNoSource });
}
