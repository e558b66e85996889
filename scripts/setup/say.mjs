import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** A step of the set-up that failed; the message says what to do. */
export class SetupError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Runs a step, and says on standard error what it does and how long it took. */
export async function step(what, work) {
  const start = Date.now();
  process.stderr.write(`set-up: ${what} …\n`);
  const result = await work();
  process.stderr.write(`set-up: ${what}: done in ${((Date.now() - start) / 1000).toFixed(1)} s\n`);
  return result;
}
