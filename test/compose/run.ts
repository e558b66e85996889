import { join } from 'node:path';
import { spawnTied } from '../../platform/process/tied-child.ts';
import { withLock } from '../controlplane/lock.ts';
import { cacheDir, findOrStartDaemon, NoDockerError, type Daemon } from './daemon.ts';
import { execute } from './execute.ts';
import { provideImages } from './stand-ins.ts';

// `npm run test:compose`: a Docker, the images, then the tests of this folder. It ends with 77 where no
// Docker can be had, which .ci/run tells apart from a failure.

const NOT_HERE = 77;
const ROOT = join(import.meta.dirname, '../..');
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
  '--config=test/compose/jest.config.js',
];

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stopping.abort());
}

function progress(line: string): void {
  process.stderr.write(`test:compose: ${line}\n`);
}

async function main(args: readonly string[]): Promise<number> {
  const daemon = await findOrStartDaemon();
  progress(daemon.isOwn ? 'started a Docker of its own' : 'takes the Docker that runs here');
  let standIns: readonly string[] = [];
  try {
    standIns = await provideImages({ env: daemon.env, progress });
    return await runJest(daemon, args);
  } finally {
    await tidyUp(daemon, standIns);
  }
}

async function runJest(daemon: Daemon, args: readonly string[]): Promise<number> {
  stopping.signal.throwIfAborted();
  const jest = spawnTied(process.execPath, [...JEST, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...daemon.env },
    stdout: 'inherit',
    stderr: 'inherit',
  });
  stopping.signal.addEventListener('abort', () => void jest.stop());
  return (await jest.exited).code ?? 130;
}

async function tidyUp(daemon: Daemon, standIns: readonly string[]): Promise<void> {
  // Somebody else's Docker must not take them for what they stand in for.
  if (!daemon.isOwn && standIns.length > 0) {
    await execute('docker', ['image', 'rm', '-f', ...standIns]);
  }
  await daemon.stop();
}

try {
  const onWait = (pid: number): void => progress(`waits for process ${pid}, which tests it, too`);
  const work = (): Promise<number> => main(process.argv.slice(2));
  process.exitCode = await withLock(join(cacheDir(), '.lock'), work, onWait);
} catch (error) {
  progress(error instanceof Error ? error.message : String(error));
  process.exitCode = error instanceof NoDockerError ? NOT_HERE : 1;
}
