import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '../../platform/process/free-port.ts';
import type { TiedChild } from '../../platform/process/tied-child.ts';
import type { Binaries } from './binaries.ts';
import { createCredentials, writeKubeconfig, type Credentials } from './credentials.ts';
import { startApiServer, startControllerManager, startEtcd } from './programs.ts';
import { untilReady } from './ready.ts';

/** What to start. */
export interface ControlPlaneOptions {
  readonly binaries: Binaries;
  /** Data, logs, and `cluster-N.kubeconfig`; data of an earlier run in it is removed. */
  readonly dir: string;
  /** How many API servers, each a cluster of its own in the one etcd. Default 1. */
  readonly clusters?: number;
  /** Garbage collection and namespace deletion in every cluster, not in cluster 0 alone. */
  readonly controllersEverywhere?: boolean;
  /** More controllers for cluster 0: `endpointslice-controller`, … */
  readonly extraControllers?: readonly string[];
  /** More flags for every API server: `--storage-media-type=application/json`, … */
  readonly apiServerFlags?: readonly string[];
}

/** One running cluster. */
export interface RunningCluster {
  readonly name: string;
  /** `https://127.0.0.1:PORT` */
  readonly server: string;
  /** Path of a kubeconfig with CA and token inside. */
  readonly kubeconfig: string;
  /** Ends the API server as a crash would (SIGKILL). */
  killServer(): Promise<void>;
  /** Starts it again under the same address and certificate; resolves once it is ready. */
  restartServer(): Promise<void>;
}

/** A running control plane; it ends when this process ends. */
export interface ControlPlane {
  readonly clusters: readonly RunningCluster[];
  /** `http://127.0.0.1:PORT`; what a cluster stores is under the key `/NAME/`. */
  readonly etcdUrl: string;
  /** Every process that runs now, by name. */
  processes(): { readonly name: string; readonly pid: number }[];
  /** Rejects with the last lines of etcd or a controller manager that ended by itself; never resolves. */
  readonly failed: Promise<never>;
  /** Ends all processes; resolves once they are gone. Files stay. */
  stop(): Promise<void>;
}

/** A port that was free may be taken before a program listens on it. */
const TRIES = 3;

/**
 * Starts one etcd and the API servers on free ports of 127.0.0.1, with RBAC, and waits until they
 * are ready (some 3 s).
 *
 * @throws {Error} with the last lines of the log of the program that did not start.
 */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const dir = resolve(options.dir);
  for (let attempt = 1; ; attempt++) {
    prepareDir(dir);
    try {
      return await startOnce(options, dir);
    } catch (error) {
      if (attempt === TRIES || !aPortWasTaken(dir)) throw error;
    }
  }
}

async function startOnce(options: ControlPlaneOptions, dir: string): Promise<ControlPlane> {
  const running = new Map<string, TiedChild>();
  let stopping = false;
  const stop = async (): Promise<void> => {
    stopping = true;
    // API servers would log for seconds about an etcd that is gone: it goes last.
    const [etcd, others] = partition(running);
    await Promise.all(others.map((child) => child.stop(1000)));
    await Promise.all(etcd.map((child) => child.stop(1000)));
  };
  const failure = Promise.withResolvers<never>();
  // Someone may never look at it; that must not end the process.
  failure.promise.catch(() => undefined);
  const etcdPort = await freePort();
  const context: Context = {
    dir,
    binaries: options.binaries,
    credentials: createCredentials(dir),
    etcdUrl: `http://127.0.0.1:${etcdPort}`,
    apiServerFlags: options.apiServerFlags ?? [],
    track: (name, child, mayEnd) => {
      running.set(name, child);
      void child.exited.then(() => {
        if (running.get(name) === child) running.delete(name);
        if (stopping || mayEnd) return;
        failure.reject(withLog(new Error(`${name} ended by itself`), join(dir, `${name}.log`)));
      });
    },
    current: (name) => running.get(name),
  };
  const starting = startAll(context, options, etcdPort);
  // It fails, too, when etcd did, and then nobody waits for it.
  starting.catch(() => undefined);
  try {
    const clusters = await Promise.race([starting, failure.promise]);
    const processes = (): { name: string; pid: number }[] =>
      [...running].map(([name, child]) => ({ name, pid: child.pid }));
    return { clusters, etcdUrl: context.etcdUrl, processes, failed: failure.promise, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the steps of a start share. */
interface Context {
  readonly dir: string;
  readonly binaries: Binaries;
  readonly credentials: Credentials;
  readonly etcdUrl: string;
  readonly apiServerFlags: readonly string[];
  /** Owns a child from now on. `mayEnd`: its end is no failure of the whole. */
  track(name: string, child: TiedChild, mayEnd: boolean): void;
  current(name: string): TiedChild | undefined;
}

async function startAll(
  context: Context,
  options: ControlPlaneOptions,
  etcdPort: number,
): Promise<readonly RunningCluster[]> {
  const { dir, binaries } = context;
  const ports = { client: etcdPort, peer: await freePort() };
  context.track('etcd', startEtcd(binaries.etcd, dir, ports), false);
  const names = Array.from({ length: options.clusters ?? 1 }, (_, index) => `cluster-${index}`);
  const clusters = await Promise.all(names.map((name) => startCluster(context, name)));
  for (const [index, { name, kubeconfig }] of clusters.entries()) {
    if (index > 0 && options.controllersEverywhere !== true) continue;
    const extra = index === 0 ? (options.extraControllers ?? []) : [];
    const program = binaries.kubeControllerManager;
    const child = startControllerManager(program, dir, { name, kubeconfig, extra });
    context.track(`${name}-kube-controller-manager`, child, false);
  }
  return clusters;
}

async function startCluster(context: Context, name: string): Promise<RunningCluster> {
  const { dir, credentials, etcdUrl, apiServerFlags } = context;
  const port = await freePort();
  const certDir = join(dir, name);
  const processName = `${name}-kube-apiserver`;
  const startServer = async (): Promise<string> => {
    const flags = { name, port, etcdUrl, certDir, credentials, more: apiServerFlags };
    const child = startApiServer(context.binaries.kubeApiserver, dir, flags);
    context.track(processName, child, true);
    const access = await untilReady(child, certDir, port, credentials.adminToken).catch((error) => {
      throw withLog(error, join(dir, `${processName}.log`));
    });
    writeKubeconfig(kubeconfig, name, access);
    return access.server;
  };
  const kubeconfig = join(dir, `${name}.kubeconfig`);
  const server = await startServer();
  return {
    name,
    server,
    kubeconfig,
    killServer: async () => void (await context.current(processName)?.stop(0)),
    restartServer: async () => {
      await context.current(processName)?.stop(0);
      await startServer();
    },
  };
}

/** Removes what an earlier run left: an etcd must not meet the data of another cluster. */
function prepareDir(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  rmSync(join(dir, 'etcd'), { recursive: true, force: true });
}

function aPortWasTaken(dir: string): boolean {
  const logs = readdirSync(dir).filter((name) => name.endsWith('.log'));
  return logs.some((name) =>
    readFileSync(join(dir, name), 'utf8').includes('address already in use'),
  );
}

function partition(running: ReadonlyMap<string, TiedChild>): [TiedChild[], TiedChild[]] {
  const etcd = [...running].filter(([name]) => name === 'etcd').map(([, child]) => child);
  const others = [...running].filter(([name]) => name !== 'etcd').map(([, child]) => child);
  return [etcd, others];
}

function withLog(error: unknown, path: string): Error {
  const message = error instanceof Error ? error.message : String(error);
  let tail = '';
  try {
    tail = readFileSync(path, 'utf8').trim().split('\n').slice(-10).join('\n  ');
  } catch {
    // Nothing was logged; the message stands alone.
  }
  return new Error(`${message}. The last lines of ${path}:\n  ${tail}`);
}
