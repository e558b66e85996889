import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT } from './say.mjs';

/** The Node 24 that package.json pins, whichever Node started npm. */
export const NODE = join(ROOT, 'node_modules', 'node', 'bin', 'node');

const BIN = join(ROOT, 'node_modules', '.bin');
const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGINT'];

/** Runs a command and gives its exit code; a signal counts as 128 + its number, as in shells. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', ...options });
    const forward = (signal) => child.kill(signal);
    // Ctrl-C reaches the child by the terminal too; this process waits for its end either way.
    for (const signal of FORWARDED) process.on(signal, forward);
    const done = () => FORWARDED.forEach((signal) => process.off(signal, forward));
    child.on('error', (error) => {
      done();
      reject(error);
    });
    child.on('exit', (code, signal) => {
      done();
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}

/** Runs Node 24 with these arguments in the project, with the project's tools first on the PATH. */
export function runTarget(args) {
  const path = [BIN, ...pathWithoutTools()].join(delimiter);
  return run(NODE, args, { env: { ...process.env, PATH: path } });
}

/** The PATH without folders of node_modules, which npm puts in front. */
export function pathWithoutTools() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.filter((folder) => !folder.includes(join('node_modules', '.bin')));
}
