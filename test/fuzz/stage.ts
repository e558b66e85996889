import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../demo/command.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { controlPlaneBinaries } from '../controlplane/binaries.ts';
import { startControlPlane, type RunningCluster } from '../controlplane/cluster.ts';
import { Random } from '../parity/random.ts';
import {
  startFaultProxy,
  type FaultProxy,
  type FaultProxyOptions,
  type ProxiedWrite,
} from '../support/fault-proxy.ts';
import { openQueueProbe, type QueueProbe } from '../support/queue-probe.ts';
import { openEtcdLog, type EtcdLog } from './etcd-log.ts';
import { Member } from './members.ts';
import { NAMESPACES } from './schedule/model.ts';
import { MEMBERS, type MemberName } from './schedule/steps.ts';

export const MANAGER = 'tether-fuzz';
const PREFIX = 'fuzz';
const BIN = join(import.meta.dirname, '../../cli/bin.js');
/** Small, so that a handful of endpoints is spread over several slices; by the seed. */
const MAX_ENDPOINTS = [2, 3, 5, 100];

/** Everything that a run has: servers, processes, and the ways between them. */
export interface Stage {
  readonly dir: string;
  readonly seed: number;
  readonly maxEndpoints: number;
  readonly cluster: RunningCluster;
  /** Goes to the API server without a detour. */
  readonly client: KubeClient;
  readonly etcd: EtcdLog;
  readonly redis: RedisSeat;
  readonly queue: QueueProbe;
  readonly members: Readonly<Record<MemberName, Member>>;
  readonly proxies: Readonly<Record<MemberName, FaultProxy>>;
  /** Writes of the members since the last call. */
  takeWrites(): ProxiedWrite[];
  /** Runs a command of the CLI against all this, to its end. */
  tether(...args: readonly string[]): Promise<string>;
  /** Rejects when something ended that should not have; never resolves. */
  readonly failed: Promise<never>;
}

/** Where a Redis is: the servers there come and go. */
export interface RedisSeat {
  readonly server: PrivateRedis;
  /** Where its append-only file is. */
  readonly dir: string;
  startAgain(): Promise<void>;
}

/** Starts all of it, to be ended by `owned`. */
export async function setUpStage(
  dir: string,
  seed: number,
  owned: AsyncDisposableStack,
): Promise<Stage> {
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const binaries = await controlPlaneBinaries();
  const plane = await startControlPlane({
    binaries,
    dir: join(dir, 'cluster'),
    // So that the log can read what etcd holds.
    apiServerFlags: ['--storage-media-type=application/json'],
  });
  owned.defer(plane.stop);
  plane.failed.catch(failure.reject);
  const [cluster] = plane.clusters;
  if (cluster === undefined) throw new Error('the control plane has no cluster');
  const redis = await seatRedis(join(dir, 'redis'), owned);
  const env = {
    KUBECONFIG: cluster.kubeconfig,
    TETHER_REDIS_URL: redis.server.url,
    TETHER_REDIS_PREFIX: PREFIX,
  };
  const tether: Stage['tether'] = (...args) =>
    runCommand({
      shown: `tether ${args.join(' ')}`,
      program: process.execPath,
      args: [BIN, ...args],
      env: { ...process.env, ...env },
      cwd: dir,
    });
  await tether('install');
  const client = createKubeClient(await loadKubeConfig({ path: cluster.kubeconfig, env: {} }));
  owned.defer(() => client.close());
  for (const name of NAMESPACES) {
    await client.create('/api/v1/namespaces', { metadata: { name } }, { what: `create ${name}` });
  }
  const etcd = await openEtcdLog(plane.etcdUrl, cluster.name, failure.reject);
  owned.defer(() => etcd.close());
  const queue = await openQueueProbe(redis.server.url, PREFIX);
  owned.defer(() => queue.close());
  const maxEndpoints = new Random(seed).pick(MAX_ENDPOINTS);
  const rest = { dir, seed, maxEndpoints, cluster, client, etcd, redis, queue, tether };
  return {
    ...rest,
    ...(await startMembers(rest, env, failure.reject, owned)),
    failed: failure.promise,
  };
}

async function seatRedis(dir: string, owned: AsyncDisposableStack): Promise<RedisSeat> {
  mkdirSync(dir);
  let server = await startPrivateRedis({ dir, appendOnly: true });
  owned.defer(() => server.stop());
  const { port, password } = server;
  return {
    dir,
    get server() {
      return server;
    },
    startAgain: async () => {
      server = await startPrivateRedis({ dir, appendOnly: true, port, password });
    },
  };
}

type Grounds = Pick<Stage, 'dir' | 'seed' | 'maxEndpoints' | 'cluster'>;

/** Each has a way of its own to the API server. */
async function startMembers(
  stage: Grounds,
  env: Readonly<Record<string, string>>,
  onFailure: (error: Error) => void,
  owned: AsyncDisposableStack,
): Promise<Pick<Stage, 'members' | 'proxies' | 'takeWrites'>> {
  const writes: ProxiedWrite[] = [];
  const proxies = new Map<MemberName, FaultProxy>();
  const members = new Map<MemberName, Member>();
  for (const name of MEMBERS) {
    const proxy = await openWay(stage, proxies.size, {
      user: () => members.get(name)?.identity ?? name,
      onWrite: (write) => void writes.push(write),
    });
    owned.defer(() => proxy.close());
    proxies.set(name, proxy);
    const args = memberArgs(stage, name, writeKubeconfig(stage, name, proxy.url));
    const member = new Member({ name, args, env, dir: stage.dir, onFailure });
    owned.defer(() => member.kill());
    members.set(name, member);
  }
  await Promise.all([...members.values()].map((member) => member.start()));
  return {
    members: Object.fromEntries(members) as Record<MemberName, Member>,
    proxies: Object.fromEntries(proxies) as Record<MemberName, FaultProxy>,
    takeWrites: () => writes.splice(0),
  };
}

function openWay(
  { cluster, dir, seed }: Grounds,
  nth: number,
  told: Pick<FaultProxyOptions, 'user' | 'onWrite'>,
): Promise<FaultProxy> {
  const [cert, key] = ['crt', 'key'].map((end) =>
    readFileSync(join(dir, 'cluster', cluster.name, `apiserver.${end}`), 'utf8'),
  );
  return startFaultProxy({
    target: cluster.server,
    ca: cert ?? '',
    cert: cert ?? '',
    key: key ?? '',
    random: new Random(seed + nth + 1),
    ...told,
  });
}

function writeKubeconfig({ cluster, dir }: Grounds, name: MemberName, url: string): string {
  const path = join(dir, `${name}.kubeconfig`);
  const text = readFileSync(cluster.kubeconfig, 'utf8').replace(cluster.server, url);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

function memberArgs({ maxEndpoints }: Grounds, name: MemberName, kubeconfig: string): string[] {
  const common = ['--manager', MANAGER, '--kubeconfig', kubeconfig];
  return name.startsWith('worker')
    ? [...common, '--max-endpoints-per-slice', String(maxEndpoints)]
    : // Never by itself: a resync would put right what got lost.
      [...common, '--resync-seconds', '86400'];
}
