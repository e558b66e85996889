import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { controlPlaneBinaries } from '../test/controlplane/binaries.ts';
import { startControlPlane } from '../test/controlplane/cluster.ts';
import { quoted, runCommand } from './command.ts';
import { startFollower, type Follower } from './follower.ts';
import type { Narrator } from './narrator.ts';
import { openRedis } from './redis.ts';
import { startTetherProcess, type TetherProcess } from './tether-process.ts';

/** Where the demo plays: a control plane and a Redis of its own, and the processes of Tether. */
export interface Stage {
  readonly say: Narrator;
  /** Of this run alone: logs, kubeconfig, data. */
  readonly dir: string;
  readonly kubeconfig: string;
  /** Of another cluster, with nothing in it at first. */
  readonly otherKubeconfig: string;
  /** Holds the URL of the Redis. */
  readonly redisUrlFile: string;
  readonly redisPrefix: string;
  readonly kubectlProgram: string;
  /** Runs kubectl in the project's folder and gives what it printed; shows nothing. */
  kubectl(...args: string[]): Promise<string>;
  /** The same for tether. */
  tether(...args: string[]): Promise<string>;
  /** Shows the command, runs it in the project's folder, and shows what it printed. */
  type(program: 'kubectl' | 'tether', args: readonly string[], most?: number): Promise<void>;
  /** Shows the command, starts a role, and waits until it is ready. */
  start(role: Role, ...args: string[]): Promise<TetherProcess>;
  /** Shows the command, starts it, and leaves it running. */
  follow(args: readonly string[]): Follower;
  /** Shows the command, and kills a role with SIGKILL. */
  kill(process: TetherProcess): Promise<void>;
  /** The roles that were started and not killed. */
  running(): readonly TetherProcess[];
  /** Rejects when the control plane breaks down; never resolves. */
  readonly failed: Promise<never>;
}

type Role = 'up' | 'watcher' | 'worker' | 'lookup';

const ROOT = dirname(import.meta.dirname);
const TETHER = join(ROOT, 'cli', 'bin.js');

/** Sets up; `owned` gets all that is to be ended, from the first process on. */
export async function setUpStage(
  say: Narrator,
  dir: string,
  owned: AsyncDisposableStack,
): Promise<Stage> {
  const redis = await openRedis(process.env['TETHER_REDIS_URL']);
  owned.defer(() => redis.stop());
  const redisUrlFile = join(dir, 'redis-url');
  writeFileSync(redisUrlFile, `${redis.url}\n`, { mode: 0o600 });
  const binaries = await controlPlaneBinaries();
  const controlPlane = await startControlPlane({ binaries, dir, clusters: 2 });
  owned.defer(() => controlPlane.stop());
  const [cluster, other] = controlPlane.clusters;
  if (cluster === undefined || other === undefined) {
    throw new TypeError('the control plane has not got two clusters');
  }
  const { kubeconfig } = cluster;
  const env = {
    ...withoutSettings(process.env),
    KUBECONFIG: kubeconfig,
    TETHER_REDIS_URL: redis.url,
    TETHER_REDIS_PREFIX: redis.prefix,
    // Both API servers are on this machine.
    TETHER_CLUSTERS_ALLOW_LOOPBACK: 'true',
  };
  return {
    say,
    dir,
    kubeconfig,
    otherKubeconfig: other.kubeconfig,
    redisUrlFile,
    redisPrefix: redis.prefix,
    kubectlProgram: binaries.kubectl,
    ...createActions(say, env, binaries.kubectl, dir, owned),
    failed: controlPlane.failed,
  };
}

/** A folder that nobody else can read. */
export function makeDir(): string {
  return mkdtempSync(join(tmpdir(), 'tether-demo-'));
}

/** True as well when it is not there. */
export function isEmpty(dir: string): boolean {
  return !existsSync(dir) || readdirSync(dir).length === 0;
}

export function removeDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

type Actions = Pick<Stage, 'kubectl' | 'tether' | 'type' | 'start' | 'follow' | 'kill' | 'running'>;

function createActions(
  say: Narrator,
  env: NodeJS.ProcessEnv,
  kubectlProgram: string,
  dir: string,
  owned: AsyncDisposableStack,
): Actions {
  const programs = {
    kubectl: { program: kubectlProgram, before: [] },
    tether: { program: process.execPath, before: [TETHER] },
  } as const;
  const run = (name: 'kubectl' | 'tether', args: readonly string[]): Promise<string> => {
    const { program, before } = programs[name];
    const shown = `${name} ${quoted(args)}`;
    return runCommand({ shown, program, args: [...before, ...args], env, cwd: ROOT });
  };
  return {
    kubectl: (...args) => run('kubectl', args),
    tether: (...args) => run('tether', args),
    type: async (name, args, most) => {
      say.command(`${name} ${quoted(args)}`);
      say.output(await run(name, args), most);
    },
    follow: (args) => {
      const shown = `tether ${quoted(args)}`;
      say.command(`${shown} &`);
      const command = { shown, program: process.execPath, args: [TETHER, ...args], env, cwd: ROOT };
      const follower = startFollower(command);
      owned.defer(() => follower.stop());
      return follower;
    },
    ...createRoles(say, env, dir, owned),
  };
}

function createRoles(
  say: Narrator,
  env: NodeJS.ProcessEnv,
  dir: string,
  owned: AsyncDisposableStack,
): Pick<Stage, 'start' | 'kill' | 'running'> {
  const running = new Set<TetherProcess>();
  let started = 0;
  return {
    start: async (role, ...more) => {
      const shown = ['tether', role, ...more].join(' ');
      say.command(`${shown} &`);
      started += 1;
      const logFile = join(dir, `tether-${started}-${role}.log`);
      const args = [TETHER, role, ...more];
      const tether = startTetherProcess({ program: process.execPath, args, shown, env, logFile });
      running.add(tether);
      owned.defer(() => tether.stop());
      const at = performance.now();
      await tether.ready;
      say.result(`${tether.name} is ready after ${Math.round(performance.now() - at)} ms`);
      return tether;
    },
    kill: async (tether) => {
      say.command(`kill -9 ${tether.pid}   # ${tether.shown}`);
      running.delete(tether);
      await tether.kill();
    },
    running: () => [...running],
  };
}

/** The demo shows the defaults, whatever its user has set; two processes could not share a port. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !name.startsWith('TETHER_') || name.startsWith('TETHER_TEST_'),
    ),
  );
}
