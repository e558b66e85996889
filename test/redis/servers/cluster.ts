import { freePort } from '../../../platform/process/free-port.ts';
import { eventually } from '../../support/eventually.ts';
import {
  fieldOf,
  startServer,
  untilReplicating,
  type RedisServer,
  type ServerTls,
} from './server.ts';

const MASTERS = 3;
const SLOTS = 16_384;
/** After so long, ms, a master that is silent counts as gone. The docs advise 5 s at most. */
const NODE_TIMEOUT_MS = 2_000;

export interface RedisClusterOptions {
  readonly dir: string;
  readonly password: string;
  /** One for each master; default true. */
  readonly replicas?: boolean;
  readonly tls?: ServerTls;
}

/** A Redis Cluster of a test: three masters, and a replica of each. */
export interface RedisCluster {
  /** `redis+cluster://…`, with the three that were masters at first; `rediss` with TLS. */
  readonly url: string;
  readonly servers: readonly RedisServer[];
  /** Who has this key now. */
  masterOf(key: string): Promise<RedisServer>;
  /** Waits until all slots are served, by masters that live. */
  untilOk(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedisCluster(options: RedisClusterOptions): Promise<RedisCluster> {
  const { password, tls, replicas = true } = options;
  const count = replicas ? 2 * MASTERS : MASTERS;
  const buses = await Promise.all(Array.from({ length: count }, () => freePort()));
  const servers = await Promise.all(
    buses.map((bus) => startServer({ ...options, config: configOf(bus, password) })),
  );
  const masters = servers.slice(0, MASTERS);
  await join(servers, masters, buses);
  await Promise.all(servers.slice(MASTERS).map((one, at) => follow(one, masters[at])));
  await untilAllKnow(servers, replicas);
  const hosts = masters.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `${tls ? 'rediss' : 'redis'}+cluster://:${password}@${hosts}`,
    servers,
    masterOf: (key) => masterOf(servers, key),
    untilOk: () => untilOk(servers),
    stop: async () => void (await Promise.all(servers.map((one) => one.stop()))),
  };
}

function configOf(bus: number, password: string): string[] {
  return [
    'cluster-enabled yes',
    `cluster-port ${bus}`,
    'cluster-config-file nodes.conf',
    `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
    `requirepass ${password}`,
    `masterauth ${password}`,
    'save ""',
    'repl-diskless-sync-delay 0',
    'maxmemory-policy noeviction',
  ];
}

async function join(
  servers: readonly RedisServer[],
  masters: readonly RedisServer[],
  buses: readonly number[],
): Promise<void> {
  const share = Math.ceil(SLOTS / MASTERS);
  await Promise.all(
    masters.map(({ admin }, at) =>
      admin.call('CLUSTER', 'ADDSLOTSRANGE', at * share, Math.min((at + 1) * share, SLOTS) - 1),
    ),
  );
  const [first] = servers;
  for (const [at, { admin, port }] of servers.entries()) {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
    if (at > 0) await first?.admin.call('CLUSTER', 'MEET', '127.0.0.1', port, buses[at] ?? 0);
  }
  await eventually(async () => {
    for (const { admin } of servers) {
      const known = fieldOf(String(await admin.cluster('INFO')), 'cluster_known_nodes');
      if (Number(known) !== servers.length) throw new Error(`a node knows ${known} nodes`);
    }
  });
}

async function follow(replica: RedisServer, master: RedisServer | undefined): Promise<void> {
  const id = String(await master?.admin.cluster('MYID'));
  // A node that is still being shaken hands with counts as known, under another name.
  await eventually(() => replica.admin.call('CLUSTER', 'REPLICATE', id));
  await untilReplicating(replica);
}

/** A replica that others do not know as one is not voted for. */
async function untilAllKnow(servers: readonly RedisServer[], replicas: boolean): Promise<void> {
  await eventually(async () => {
    for (const { admin } of servers) {
      const slots = (await admin.call('CLUSTER', 'SLOTS')) as readonly unknown[][];
      const whole = slots.every((range) => range.length === (replicas ? 4 : 3));
      if (slots.length !== MASTERS || !whole) throw new Error('a node does not know all others');
    }
  });
  await untilOk(servers);
}

async function untilOk(servers: readonly RedisServer[]): Promise<void> {
  await eventually(async () => {
    for (const { admin } of servers) {
      if (admin.status !== 'ready') continue;
      const state = fieldOf(String(await admin.cluster('INFO')), 'cluster_state');
      if (state !== 'ok') throw new Error(`the cluster is ${state}`);
    }
  });
}

type SlotRange = readonly [from: number, to: number, master: readonly [host: string, port: number]];

async function masterOf(servers: readonly RedisServer[], key: string): Promise<RedisServer> {
  const living = servers.find(({ lives }) => lives);
  if (living === undefined) throw new Error('no node of the cluster lives');
  const slot = Number(await living.admin.cluster('KEYSLOT', key));
  const ranges = (await living.admin.call('CLUSTER', 'SLOTS')) as readonly SlotRange[];
  const range = ranges.find(([from, to]) => from <= slot && slot <= to);
  const found = servers.find(({ port }) => port === range?.[2][1]);
  if (found === undefined) throw new Error(`nobody has slot ${slot}`);
  return found;
}
