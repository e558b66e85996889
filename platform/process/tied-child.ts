import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** Where an output of the child goes: nowhere, to the parent's own output, to a stream, or to an open file. */
export type TiedOutput = 'ignore' | 'inherit' | 'pipe' | number;

/** How to start a tied child. */
export interface TiedOptions {
  readonly cwd?: string;
  /** The whole environment of the child; the parent's own when left out. */
  readonly env?: NodeJS.ProcessEnv;
  /** Default `ignore`. */
  readonly stdout?: TiedOutput;
  /** Default `ignore`. */
  readonly stderr?: TiedOutput;
  /** Written to the child's standard input, which then ends. Without it standard input is empty. */
  readonly input?: string;
  /** Milliseconds from SIGTERM to SIGKILL once the parent is gone. Default 2000. */
  readonly graceMs?: number;
  /** Whether the running child keeps the parent's event loop alive. Default true. */
  readonly keepsParentAlive?: boolean;
}

/** How a child ended: one of the two is set. */
export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process that does not outlive its parent. */
export interface TiedChild {
  readonly pid: number;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Resolves once the process is gone; never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Sends a signal; false when the process is already gone. */
  signal(signal: NodeJS.Signals): boolean;
  /**
   * SIGTERM, then SIGKILL after `graceMs` (default 5000; with 0 SIGKILL at once, as a crash would);
   * resolves once the process is gone.
   */
  stop(graceMs?: number): Promise<ChildExit>;
}

/**
 * The shell turns into the command (exec), so pid, signals and exit code are those of the command.
 * Before that it leaves a watcher behind, two forks away so that the command never sees an unknown
 * child. The watcher blocks on fd 3, whose other end only the parent holds: a line means "the child
 * has ended", end of file means "the parent has died", however it died.
 */
const TIE = `
pid=$$ ticks=$1
shift
( (
  exec </dev/null >/dev/null 2>&1
  read -r line <&3 && exit 0
  kill -TERM "$pid" || exit 0
  while [ "$ticks" -gt 0 ] && kill -0 "$pid"; do sleep 0.1; ticks=$((ticks - 1)); done
  kill -KILL "$pid"
) & )
exec 3<&-
exec "$@"
`;

const TICK_MS = 100;

/**
 * Starts `command` so that it ends when this process ends, whichever way this process dies
 * (SIGKILL too): SIGTERM at once, SIGKILL after `graceMs`. The child has its own session, so Ctrl-C
 * in a terminal reaches the parent alone, which stops the child in its own order.
 *
 * @throws {Error} when the operating system starts no more processes. A command that is not found
 *   is an exit with code 127.
 */
export function spawnTied(
  command: string,
  args: readonly string[],
  options: TiedOptions = {},
): TiedChild {
  const ticks = Math.ceil((options.graceMs ?? 2000) / TICK_MS);
  const shell = ['-c', TIE, 'tied-child', String(ticks), command, ...args];
  const child = spawn('/bin/sh', shell, spawnOptions(options));
  const exited = untilExit(child);
  if (child.pid === undefined) {
    throw new Error(`${command} could not be started: no process could be made for /bin/sh`);
  }
  const tie = child.stdio[3] as Writable & { unref?: () => void };
  // The pipe alone must not keep the parent from ending: its end is what the watcher waits for.
  tie.unref?.();
  // EPIPE when the watcher is gone already: nothing is left to tell it.
  tie.on('error', () => undefined);
  void exited.then(() => tie.end('ended\n'));
  if (options.input !== undefined) {
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input);
  }
  if (options.keepsParentAlive === false) letParentEnd(child);
  return asTiedChild(child, child.pid, exited);
}

function spawnOptions(options: TiedOptions): SpawnOptions {
  return {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
    detached: true,
    stdio: [
      options.input === undefined ? 'ignore' : 'pipe',
      options.stdout ?? 'ignore',
      options.stderr ?? 'ignore',
      'pipe',
    ],
  };
}

/** A child that could not be started has ended too: whoever waits for it must not wait for ever. */
function untilExit(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: 127, signal: null }));
  });
}

function letParentEnd(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdout, child.stderr]) {
    (stream as (Readable & { unref?: () => void }) | null)?.unref?.();
  }
}

function asTiedChild(child: ChildProcess, pid: number, exited: Promise<ChildExit>): TiedChild {
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    pid,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    signal: (signal) => running() && child.kill(signal),
    stop: async (graceMs = 5000) => {
      if (running()) child.kill(graceMs > 0 ? 'SIGTERM' : 'SIGKILL');
      // A stopped process (SIGSTOP) keeps SIGTERM pending; SIGKILL ends it whatever its state.
      const hard = setTimeout(() => running() && child.kill('SIGKILL'), graceMs);
      // Waiting for the end needs the event loop, even of a child that does not hold it.
      child.ref();
      try {
        return await exited;
      } finally {
        clearTimeout(hard);
      }
    },
  };
}
