import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { ClusterDecision } from '../../core/cluster.ts';
import { silentLogger } from '../../core/logger.ts';
import {
  createClusterRegistry,
  type ClusterRegistry,
} from '../../platform/redis/clusters/registry.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { apiOk } from './api.ts';
import { putSecret, secretPath, type ClusterSecretInput } from './cluster-secrets.ts';
import { eventually } from './eventually.ts';
import { freshNamespace } from './namespaces.ts';
import { remove } from './objects.ts';
import { spawnTether, type TetherProcess } from './processes.ts';
import { fromRun } from './run.ts';

/** A watcher and a worker that follow the cluster Secrets of a namespace of their own, for one file. */
export interface ClusterRig {
  readonly ns: string;
  readonly prefix: string;
  readonly redis: RedisClient;
  readonly registry: ClusterRegistry;
  readonly watcher: TetherProcess;
  readonly worker: TetherProcess;
  /** All that the two have logged so far. */
  logs(): string;
  put(input: ClusterSecretInput): Promise<void>;
  drop(name: string): Promise<void>;
  /** Waits until the decision about a Secret matches, and gives it. */
  decided(name: string, expected: object): Promise<ClusterDecision>;
  /** Waits until nothing is known of a Secret. */
  forgotten(name: string): Promise<void>;
  /** Reasons and messages of the Events on a Secret. */
  events(name: string): Promise<readonly { readonly reason: string; readonly message: string }[]>;
  /** Metrics of the worker: value by name with labels. */
  metrics(): Promise<ReadonlyMap<string, number>>;
}

/** Local servers, plain http, and any host. */
const LENIENT = ['--clusters-allow-loopback', 'true', '--clusters-allow-insecure-tls', 'true'];

/**
 * To be called once at the top of a test file.
 *
 * @param policy what cluster Secrets are allowed. Default: local servers, plain http, and any host.
 */
export function clusterRig(name: string, policy: readonly string[] = LENIENT): ClusterRig {
  let ns = '';
  let redis: RedisClient;
  let watcher: TetherProcess;
  let worker: TetherProcess;
  const prefix = `${name}-${process.pid}`;
  beforeAll(async () => {
    ns = await freshNamespace(name);
    redis = connectRedis(fromRun('redisUrl'), 'producer', { log: silentLogger });
    await checkRedis(redis, { log: silentLogger });
    const options = roleArgs(prefix, ns, policy);
    worker = spawnTether(['worker', ...options], { lifetime: 'file' });
    watcher = spawnTether(['watcher', '--namespaces', ns, ...options], { lifetime: 'file' });
    await Promise.all([worker, watcher].map((one) => one.untilLog(/"msg":"ready"/)));
  });
  afterAll(() => redis.disconnect());
  const registry = (): ClusterRegistry => createClusterRegistry(redis, prefix);
  return {
    get ns() {
      return ns;
    },
    prefix,
    get redis() {
      return redis;
    },
    get registry() {
      return registry();
    },
    get watcher() {
      return watcher;
    },
    get worker() {
      return worker;
    },
    logs: () => worker.stdout() + watcher.stdout(),
    put: async (input) => void (await putSecret({ ...input, namespace: ns })),
    drop: (secret) => remove(secretPath(ns, secret)),
    decided: (secret, expected) =>
      eventually(async () => {
        const decision = await registry().decision(`${ns}/${secret}`);
        expect(decision).toMatchObject(expected);
        return decision as ClusterDecision;
      }),
    forgotten: (secret) =>
      eventually(async () => {
        expect(await registry().decision(`${ns}/${secret}`)).toBeNull();
      }),
    events: (secret) => eventsOn(ns, secret),
    metrics: () => scrape(worker),
  };
}

/** What a role of the rig is started with. */
export function roleArgs(
  prefix: string,
  ns: string,
  policy: readonly string[] = LENIENT,
): string[] {
  const log = ['--log-level', 'debug', '--log-format', 'json'];
  return ['--redis-prefix', prefix, '--namespace', ns, ...policy, ...log];
}

interface EventList {
  readonly items: readonly {
    readonly reason: string;
    readonly message: string;
    readonly involvedObject: { readonly kind: string; readonly name: string };
  }[];
}

/** The Events on a Secret. */
export async function eventsOn(ns: string, secret: string): Promise<EventList['items']> {
  const list = (await apiOk('GET', `/api/v1/namespaces/${ns}/events`)) as EventList;
  return list.items.filter(({ involvedObject: { kind, name } }) => {
    return kind === 'Secret' && name === secret;
  });
}

async function scrape(member: TetherProcess): Promise<Map<string, number>> {
  const [, url] = await member.untilLog(/"url":"(http:[^"]+)"/);
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const found = new Map<string, number>();
  for (const line of lines) {
    const space = line.lastIndexOf(' ');
    const series = line.slice(0, space);
    if (found.has(series)) throw new Error(`${series} is there twice`);
    found.set(series, Number(line.slice(space + 1)));
  }
  return found;
}

/** A socket that takes connections and never says anything. */
export interface BlackHole {
  readonly port: number;
  /** Connections that are open now. */
  readonly open: number;
  /** The most that were open at a time. */
  readonly most: number;
}

const holes = new Set<{ server: Server; sockets: Set<Socket> }>();
afterEach(async () => {
  for (const { server, sockets } of holes) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
  holes.clear();
});

/** Ends after the test. */
export async function blackHoleServer(): Promise<BlackHole> {
  const sockets = new Set<Socket>();
  let most = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    // Reads, or it would not notice that the other side has gone.
    socket.resume();
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  holes.add({ server, sockets });
  return {
    port: (server.address() as AddressInfo).port,
    get open() {
      return sockets.size;
    },
    get most() {
      return most;
    },
  };
}
