import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { controlPlaneBinaries } from './binaries.ts';
import { withLock } from './lock.ts';
import { isRunning, readState, removeRunFiles, type ControlPlaneState } from './state.ts';

/** What `up` starts. */
export interface UpOptions {
  readonly dir: string;
  readonly clusters: number;
  readonly controllersEverywhere: boolean;
  /** Names with commas between. */
  readonly extraControllers: string;
}

const POLL_MS = 25;

/**
 * Starts a control plane that stays when this process ends, and prints how to reach it. Where one
 * runs in `dir` already, it says so and is done.
 *
 * @throws {Error} with the supervisor's own words when it does not start.
 */
export async function up(options: UpOptions): Promise<void> {
  const { dir } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  // Before the supervisor starts, so that a build shows its progress here.
  await controlPlaneBinaries();
  await withLock(join(dir, 'up.lock'), async () => {
    const start = Date.now();
    const before = readState(dir);
    if (before !== undefined && isRunning(before)) {
      print(`already up in ${dir} (${before.clusters.length} clusters):\n${describe(before)}`);
      return;
    }
    removeRunFiles(dir, before);
    const state = await startSupervisor(options);
    print(`up in ${((Date.now() - start) / 1000).toFixed(1)} s:\n${describe(state)}`);
  });
}

async function startSupervisor(options: UpOptions): Promise<ControlPlaneState> {
  const { dir } = options;
  const logPath = join(dir, 'supervisor.log');
  const log = openSync(logPath, 'w');
  const flags = ['--dir', dir, '--clusters', String(options.clusters)];
  flags.push('--extra-controllers', options.extraControllers);
  if (options.controllersEverywhere) flags.push('--controllers-everywhere');
  const supervisor = spawn(
    process.execPath,
    [join(import.meta.dirname, 'supervisor.ts'), ...flags],
    { detached: true, stdio: ['ignore', log, log] },
  );
  closeSync(log);
  const giveUp = (): void => {
    supervisor.kill('SIGTERM');
    process.exit(130);
  };
  process.once('SIGINT', giveUp);
  process.once('SIGTERM', giveUp);
  try {
    return await untilState(supervisor, dir, logPath);
  } finally {
    process.off('SIGINT', giveUp);
    process.off('SIGTERM', giveUp);
    supervisor.unref();
  }
}

async function untilState(
  supervisor: ChildProcess,
  dir: string,
  logPath: string,
): Promise<ControlPlaneState> {
  let ended = false;
  supervisor.once('exit', () => (ended = true));
  supervisor.once('error', () => (ended = true));
  for (;;) {
    const state = readState(dir);
    if (state !== undefined && state.supervisor.pid === supervisor.pid) return state;
    if (ended) {
      throw new Error(`the control plane did not start: ${readFileSync(logPath, 'utf8').trim()}`);
    }
    await delay(POLL_MS);
  }
}

function describe(state: ControlPlaneState): string {
  const clusters = state.clusters.map(
    ({ name, server, kubeconfig }) => `  ${name}  ${server}  KUBECONFIG=${kubeconfig}`,
  );
  return [...clusters, `  kubectl: ${state.kubectl}`].join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
