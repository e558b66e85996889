import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach } from '@jest/globals';
import { spawnTied, type ChildExit } from '../../platform/process/tied-child.ts';
import { eventually } from './eventually.ts';
import { kubeconfigFor } from './own-accounts.ts';
import { fromRun, TEST_MANAGER } from './run.ts';

const BIN = join(import.meta.dirname, '../../cli/bin.js');

/** How to start a tether process. */
export interface TetherOptions {
  /** On top of the environment of the test run. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: a new process ends after the test. `file`: after the last test of the file. */
  readonly lifetime?: 'test' | 'file';
  /** Another release's `cli/bin.js`. Default: that of this tree. */
  readonly bin?: string;
}

/** A real tether process of a test. */
export interface TetherProcess {
  readonly pid: number;
  /** All that it has written so far. */
  stdout(): string;
  stderr(): string;
  /** Waits until its output (either stream) matches, and gives the match. */
  untilLog(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
  readonly exited: Promise<ChildExit>;
  /** Resolves once both streams were read to their end. */
  readonly read: Promise<unknown>;
  /** SIGKILL: a crash. Resolves once it is gone. */
  kill(): Promise<ChildExit>;
  /** SIGTERM, and SIGKILL after `graceMs` (default 10000). Resolves once it is gone. */
  stop(graceMs?: number): Promise<ChildExit>;
  /** SIGSTOP: a process that hangs; its connections stay open. */
  freeze(): void;
  /** SIGCONT after `freeze`. */
  thaw(): void;
}

const LAST_WORDS_MS = 2_000;

const running = { test: new Set<TetherProcess>(), file: new Set<TetherProcess>() };

/**
 * Starts `tether ARGS…` as users do, against the cluster and the Redis of this run, and ends it
 * after the test. A free port is used for metrics unless the environment says otherwise.
 */
export function spawnTether(args: readonly string[], options: TetherOptions = {}): TetherProcess {
  const child = spawnTied(process.execPath, [options.bin ?? BIN, ...args], {
    env: { ...process.env, ...addresses(args[0]), ...options.env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const tether: TetherProcess = {
    pid: child.pid,
    stdout: () => stdout,
    stderr: () => stderr,
    exited: child.exited,
    read: Promise.all(
      [child.stdout, child.stderr].map(async (stream) => stream && once(stream, 'end')),
    ),
    kill: () => child.stop(0),
    stop: (graceMs = 10_000) => child.stop(graceMs),
    freeze: () => void child.signal('SIGSTOP'),
    thaw: () => void child.signal('SIGCONT'),
    untilLog: (pattern, timeoutMs = 30_000) =>
      eventually(
        () => {
          const match = pattern.exec(stdout) ?? pattern.exec(stderr);
          if (match !== null) return match;
          throw new Error(
            `tether ${args.join(' ')} has not logged ${pattern}:\n${stdout}${stderr}`,
          );
        },
        { timeoutMs },
      ),
  };
  const lifetime = running[options.lifetime ?? 'test'];
  lifetime.add(tether);
  void child.exited.then(() => lifetime.delete(tether));
  return tether;
}

/** Runs `tether ARGS…` to its end and gives its output and exit code. */
export async function runTether(
  args: readonly string[],
  options: TetherOptions = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const tether = spawnTether(args, options);
  const { code } = await tether.exited;
  // What it wrote last may still be on its way here when it is gone.
  await Promise.race([tether.read, delay(LAST_WORDS_MS, undefined, { ref: false })]);
  return { code, stdout: tether.stdout(), stderr: tether.stderr() };
}

function addresses(command: string | undefined): Record<string, string> {
  return {
    KUBECONFIG: kubeconfigFor(command, fromRun('kubeconfig')),
    TETHER_REDIS_URL: fromRun('redisUrl'),
    TETHER_HTTP_PORT: '0',
    TETHER_MANAGER: TEST_MANAGER,
  };
}

async function endAll(processes: ReadonlySet<TetherProcess>): Promise<void> {
  await Promise.all([...processes].map((tether) => tether.kill()));
}

afterEach(() => endAll(running.test));
afterAll(() => endAll(running.file));

/**
 * What a process complained of: its log lines of level warn and error. Left out are cluster Secrets that
 * other test files left in namespaces of theirs, as every watcher tells of such.
 */
export function complaintsOf(tether: Pick<TetherProcess, 'stdout' | 'stderr'>): string[] {
  const lines = (tether.stdout() + tether.stderr()).split('\n');
  return lines.filter(
    (line) => /"level":"(error|warn)"/.test(line) && !line.includes('cluster Secrets live in'),
  );
}
