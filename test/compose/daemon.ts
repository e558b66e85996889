import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnTied, type TiedChild } from '../../platform/process/tied-child.ts';
import { execute, must } from './execute.ts';

/** A Docker to test with. */
export interface Daemon {
  /** Started for this run: everything in it is ours. Else it is somebody's. */
  readonly isOwn: boolean;
  /** What docker and compose find it by. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends an own one; resolves once it is gone. */
  stop(): Promise<void>;
}

/** There can be no Docker on this machine; the message says why. */
export class NoDockerError extends Error {
  override readonly name = 'NoDockerError';
}

const START_MS = 60_000;
const POLL_MS = 100;
const BRIDGE = '/sys/class/net/docker0';
/** It stops what runs first, which may take its time. */
const STOP_MS = 30_000;

/** Where an own daemon keeps images between runs, and we what they are made from. */
export function cacheDir(): string {
  const configured = process.env['XDG_CACHE_HOME'];
  const root =
    configured === undefined || configured === '' ? join(homedir(), '.cache') : configured;
  const dir = join(root, 'tether', 'compose');
  mkdirSync(dir, { recursive: true });
  return dir;
}

/**
 * The Docker that runs here, else one that is started now, with a socket, data and a pid file of its own.
 *
 * @throws {NoDockerError} when none runs and none can be started.
 */
export async function findOrStartDaemon(): Promise<Daemon> {
  if ((await execute('docker', ['version'])).code === 0) {
    return { isOwn: false, env: {}, stop: () => Promise.resolve() };
  }
  const bridged = existsSync(BRIDGE);
  const dir = mkdtempSync(join(tmpdir(), 'tether-docker-'));
  const log = join(dir, 'dockerd.log');
  const socket = `unix://${join(dir, 'docker.sock')}`;
  const child = startDaemon(dir, socket, log);
  const env = { DOCKER_HOST: socket };
  const stop = async (): Promise<void> => {
    await child.stop(STOP_MS);
    // It leaves its bridge behind. Without `ip` it stays, and does no harm.
    if (!bridged) await execute('ip', ['link', 'delete', 'docker0']);
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await untilAnswers(child, env, log);
    await removeLeftovers(env);
  } catch (error) {
    await stop();
    throw error;
  }
  return { isOwn: true, env, stop };
}

function startDaemon(dir: string, socket: string, logPath: string): TiedChild {
  const log = openSync(logPath, 'w');
  try {
    const flags = [
      `--host=${socket}`,
      `--data-root=${join(cacheDir(), 'docker')}`,
      `--exec-root=${join(dir, 'exec')}`,
      `--pidfile=${join(dir, 'docker.pid')}`,
    ];
    return spawnTied('dockerd', flags, { stdout: log, stderr: log, graceMs: STOP_MS });
  } finally {
    // The child has its own copy of the descriptor.
    closeSync(log);
  }
}

async function untilAnswers(
  child: TiedChild,
  env: Readonly<Record<string, string>>,
  log: string,
): Promise<void> {
  let ended = false;
  void child.exited.then(() => (ended = true));
  const deadline = performance.now() + START_MS;
  while ((await execute('docker', ['version'], { env })).code !== 0) {
    if (ended || performance.now() > deadline) {
      const last = readFileSync(log, 'utf8').trim().split('\n').slice(-5).join('\n  ');
      throw new NoDockerError(`dockerd does not start here. Its last words:\n  ${last}`);
    }
    await delay(POLL_MS);
  }
}

/** A run that was killed left containers in the data that are kept. */
async function removeLeftovers(env: Readonly<Record<string, string>>): Promise<void> {
  const ids = (await must('docker', ['ps', '-aq'], { env })).split('\n').filter(Boolean);
  if (ids.length > 0) await must('docker', ['rm', '-f', '-v', ...ids], { env });
  await must('docker', ['network', 'prune', '-f'], { env });
  await must('docker', ['volume', 'prune', '-f'], { env });
  // Stages of builds: they make the next one fast, those of long ago only fill the disk.
  await must('docker', ['image', 'prune', '-f', '--filter', 'until=48h'], { env });
}
