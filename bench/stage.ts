import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeError } from '../core/errors.ts';
import { controlPlaneBinaries, type Binaries } from '../test/controlplane/binaries.ts';
import {
  startControlPlane,
  type ControlPlane,
  type RunningCluster,
} from '../test/controlplane/cluster.ts';
import { startAgent, type Agent } from './agent/client.ts';
import type { Place } from './contenders/contender.ts';
import { startMeasured } from './contenders/process.ts';
import { TETHER } from './contenders/tether.ts';
import { startUsageMeter, type UsageMeter } from './measure/usage.ts';

/** Where one run takes place: a control plane with our kind installed, an agent, a meter. */
export interface Stage extends Place {
  readonly agent: Agent;
  /** Kubeconfigs of the API servers besides the one that is served; none where a control plane is shared. */
  readonly others: readonly string[];
  /** Another agent for the same API server, for more load than one process makes. */
  addAgent(): Promise<Agent>;
  /** The API server that is served. */
  readonly server: {
    /** As by a crash. */
    kill(): Promise<void>;
    /** Resolves once it is ready. */
    restart(): Promise<void>;
  };
  /** Of the worlds of this run: no two runs on one control plane share a namespace. */
  readonly prefix: string;
}

/** Makes stages; each is a fresh control plane, unless all are to share one. */
export interface Stages {
  /**
   * Runs `work` on a stage of its own and ends all that was started for it.
   *
   * @param clusters API servers, each a cluster; one where a control plane is shared. Default 1.
   */
  on<T>(work: (stage: Stage) => Promise<T>, clusters?: number): Promise<T>;
  /** What the API server calls its version. */
  version(): string;
  /** Ends all that runs, and removes all files. */
  close(): Promise<void>;
}

const CONNECTIONS = 64;

/**
 * @param shared one control plane for all runs: good enough to prove that everything works, not for
 *   figures. Tether is told to serve the namespaces of its own run alone.
 */
export async function openStages(
  shared: boolean,
  progress: (line: string) => void,
): Promise<Stages> {
  const root = mkdtempSync(join(tmpdir(), 'tether-bench-'));
  const binaries = await controlPlaneBinaries();
  let runs = 0;
  let version = 'unknown';
  let common: ControlPlane | undefined;
  let current: AsyncDisposableStack | undefined;
  return {
    version: () => version,
    on: async (work, clusters = 1) => {
      runs += 1;
      const dir = join(root, `run-${runs}`);
      mkdirSync(dir, { mode: 0o700 });
      await using owned = new AsyncDisposableStack();
      current = owned;
      const controlPlane = common ?? (await startWithKind(binaries, dir, shared ? 1 : clusters));
      if (shared) common = controlPlane;
      else owned.defer(() => controlPlane.stop());
      const stage = await makeStage(controlPlane, dir, owned, progress);
      version = versionIn(await stage.agent.read('/version'));
      const prefix = `bench-${runs}`;
      const tetherEnv = { KUBECONFIG: stage.kubeconfig, ...(shared ? onlyWorld(prefix) : {}) };
      const { kubeControllerManager: controllerManager } = binaries;
      // What ends by itself must not leave the run waiting for it.
      return await Promise.race([
        work({ ...stage, prefix, tetherEnv, controllerManager }),
        controlPlane.failed,
      ]);
    },
    close: async () => {
      // Of a run that was interrupted; one that came to its end has done this.
      await current?.disposeAsync();
      await common?.stop();
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** More namespaces than a world on a shared control plane has. */
const SHARED_NAMESPACES = 10;

function onlyWorld(prefix: string): Readonly<Record<string, string>> {
  const names = Array.from({ length: SHARED_NAMESPACES }, (_, at) => `${prefix}-${at}`);
  return { TETHER_NAMESPACES: names.join(',') };
}

/** A fresh control plane that has our kind. */
async function startWithKind(
  binaries: Binaries,
  dir: string,
  clusters: number,
): Promise<ControlPlane> {
  const controlPlane = await startControlPlane({ binaries, dir, clusters });
  try {
    for (const { kubeconfig } of controlPlane.clusters) await installKind(kubeconfig, dir);
    return controlPlane;
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

async function makeStage(
  controlPlane: ControlPlane,
  dir: string,
  owned: AsyncDisposableStack,
  progress: (line: string) => void,
): Promise<Omit<Stage, 'prefix' | 'tetherEnv' | 'controllerManager'>> {
  const usage = meterOf(controlPlane);
  owned.defer(() => usage.close());
  const { kubeconfig, killServer: kill, restartServer: restart } = servedBy(controlPlane);
  const others = controlPlane.clusters.slice(1).map((cluster) => cluster.kubeconfig);
  const addAgent = async (): Promise<Agent> => {
    const agent = await startAgent(kubeconfig, CONNECTIONS, progress);
    owned.defer(() => agent.stop());
    usage.track('load and observer', agent.pid);
    return agent;
  };
  const server = { kill, restart };
  return { kubeconfig, others, server, dir, usage, agent: await addAgent(), addAgent };
}

function servedBy(controlPlane: ControlPlane): RunningCluster {
  const [cluster] = controlPlane.clusters;
  if (cluster === undefined) throw new Error('the control plane has no cluster');
  return cluster;
}

function meterOf(controlPlane: ControlPlane): UsageMeter {
  const usage = startUsageMeter();
  for (const { name, pid } of controlPlane.processes()) {
    usage.track(PARTS.find(([pattern]) => pattern.test(name))?.[1] ?? name, pid);
  }
  return usage;
}

const PARTS: readonly (readonly [RegExp, string])[] = [
  [/kube-apiserver$/, 'API server'],
  [/kube-controller-manager$/, 'garbage collector'],
  [/^etcd$/, 'etcd'],
];

/** `tether install`, as users do. */
async function installKind(kubeconfig: string, dir: string): Promise<void> {
  const install = startMeasured(TETHER, ['install'], {
    cwd: dir,
    logFile: join(dir, 'install.log'),
    env: { KUBECONFIG: kubeconfig },
  });
  const { code } = await install.exited;
  if (code !== 0) throw new Error(`tether install: ${install.log()}`);
}

function versionIn(answer: string): string {
  try {
    return (JSON.parse(answer) as { readonly gitVersion: string }).gitVersion;
  } catch (error) {
    throw new Error(`/version answers ${answer}: ${describeError(error)}`, { cause: error });
  }
}
