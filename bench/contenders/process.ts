import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname, delimiter } from 'node:path';
import { spawnTied, type ChildExit } from '../../platform/process/tied-child.ts';
import { monotonicMs } from '../clock.ts';

/** A process that is measured: its output goes into a file, which costs this process nothing. */
export interface MeasuredProcess {
  readonly pid: number;
  readonly startedAt: number;
  readonly startedAtWall: number;
  log(): string;
  readonly exited: Promise<ChildExit>;
  /** Whether it is gone. */
  ended(): boolean;
  /** Rejects when it ends without being asked to; never resolves. */
  readonly failed: Promise<never>;
  /** SIGTERM, and SIGKILL after 10 s. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** How to start it. */
export interface MeasuredProcessOptions {
  readonly cwd: string;
  readonly logFile: string;
  readonly env: Readonly<Record<string, string>>;
}

const GRACE_MS = 10_000;
const LAST_LINES = 5;

/** Starts a program without the settings of Tether that this process may have been given. */
export function startMeasured(
  program: string,
  args: readonly string[],
  options: MeasuredProcessOptions,
): MeasuredProcess {
  const { cwd, logFile } = options;
  const log = openSync(logFile, 'w', 0o600);
  const [startedAt, startedAtWall] = [monotonicMs(), Date.now()];
  const env = { ...withoutSettings(process.env), ...options.env };
  const child = spawnTied(program, args, { cwd, env, stdout: log, stderr: log });
  closeSync(log);
  let asked = false;
  let gone = false;
  const read = (): string => readFileSync(logFile, 'utf8');
  const failed = child.exited.then(({ code, signal }) => {
    gone = true;
    // Whoever asked for the end does not wait for this.
    if (asked) return new Promise<never>(() => undefined);
    const last = read().trimEnd().split('\n').slice(-LAST_LINES).join('\n  ');
    throw new Error(`${program} ${args.join(' ')} ended with ${signal ?? code}:\n  ${last}`);
  });
  failed.catch(() => undefined);
  const end = async (graceMs: number): Promise<void> => {
    asked = true;
    await child.stop(graceMs);
  };
  return {
    pid: child.pid,
    startedAt,
    startedAtWall,
    log: read,
    exited: child.exited,
    ended: () => gone,
    failed,
    stop: () => end(GRACE_MS),
    kill: () => end(0),
  };
}

/** This Node first on the PATH: `#!/usr/bin/env node` finds it. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(
    ([name]) => !name.startsWith('TETHER_') && name !== 'NODE_OPTIONS',
  );
  const path = [dirname(process.execPath), env['PATH'] ?? ''].join(delimiter);
  return { ...Object.fromEntries(kept), PATH: path };
}
