import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheRoot } from '../controlplane/binaries.ts';

/** What docs/queue.md says was tried. */
const VERSION = '3.4.4';
const FOLDER = join(cacheRoot(), 'tether', `python-bullmq-${VERSION}`);
const INSTALL_MS = 180_000;

const exec = promisify(execFile);

/**
 * Gives a Python that has the bullmq package, made once and kept outside of the tree; null where there is
 * no Python, or PyPI cannot be reached: the test that wants it is left out then, and says so.
 */
export async function pythonWithBullmq(): Promise<string | null> {
  const python = join(FOLDER, 'bin/python');
  const done = join(FOLDER, 'installed');
  if (existsSync(done)) return python;
  try {
    mkdirSync(FOLDER, { recursive: true });
    await exec('python3', ['-m', 'venv', '--clear', FOLDER], { timeout: INSTALL_MS });
    const quietly = ['--quiet', '--disable-pip-version-check', '--retries', '1'];
    const wanted = ['install', ...quietly, `bullmq==${VERSION}`];
    await exec(python, ['-m', 'pip', ...wanted], { timeout: INSTALL_MS });
    await exec(python, ['-c', `import bullmq; open(${JSON.stringify(done)}, "w").close()`]);
    return python;
  } catch (error) {
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
    process.stdout.write(
      `\n!!! NOT TESTED: examples/trigger/enqueue.py, as Python with bullmq ${VERSION} cannot be had: ` +
        `${reason}\n\n`,
    );
    return null;
  }
}
