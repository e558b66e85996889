import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect } from '@jest/globals';
import type { ApiObject } from '../../core/api-objects.ts';
import type { ClusterDecision, ClusterWatch } from '../../core/cluster.ts';
import { silentLogger } from '../../core/logger.ts';
import { LABEL_SERVICE_NAME } from '../../core/names.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { staticCredentials } from '../../platform/kube/credentials.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { createClusterViewReader } from '../../platform/redis/clusters/cluster-view-reader.ts';
import { createClusterViewWriter } from '../../platform/redis/clusters/cluster-view-writer.ts';
import { createClusterMembers } from '../../platform/redis/clusters/members.ts';
import { createClusterPurger, type ClusterPurger } from '../../platform/redis/clusters/purge.ts';
import {
  createClusterRegistry,
  type ClusterRegistry,
} from '../../platform/redis/clusters/registry.ts';
import { ClusterManager, type ClusterManagerDeps } from '../../watcher/clusters/cluster-manager.ts';
import { ApiDouble, DOUBLE_TOKEN, type ApiDoubleOptions } from './api-double.ts';
import { acceptedDecision } from './accepted-decision.ts';
import { eventually, type EventuallyOptions } from './eventually.ts';
import { deleteInstall, keysOf, openRedis } from './redis.ts';

/** What a Secret would hold. */
export interface Link {
  readonly url: string;
  readonly token?: string;
  /** Under which it is accepted; default: a new one. */
  readonly generation?: number;
}

/** What look-ups would read of the Service `shop/web`. */
export interface Reading {
  readonly generation: number;
  readonly ips: readonly string[];
}

/**
 * Watchers of linked clusters in this process, over the Redis of the run, in front of API servers that
 * stand in for the clusters'. New for each test; all is ended after it.
 */
export interface LinkedRig {
  redis: RedisClient;
  prefix: string;
  registry: ClusterRegistry;
  purger: ClusterPurger;
  /** An API server of one cluster. */
  cluster(options?: ApiDoubleOptions): Promise<ApiDouble>;
  /** Has a content accepted, as a worker would; gives its generation. The Secret is called as the cluster. */
  link(cluster: string, link: Link, secret?: string): Promise<number>;
  /** Another Secret wants the same name, and has to wait. */
  contest(cluster: string, secret: string): Promise<void>;
  /** The Secret is gone, and everybody was told. */
  unlink(cluster: string): Promise<void>;
  /** The Secret holds something else, and nobody has decided about it yet. */
  overwrite(cluster: string): void;
  /** Starts a watcher. */
  watcher(options?: Partial<ClusterManagerDeps>): ClusterManager;
  watch(cluster: string): Promise<ClusterWatch | undefined>;
  read(cluster: string): Promise<Reading>;
  /** Waits until exactly these addresses are read. */
  becomes(cluster: string, ips: readonly string[], options?: EventuallyOptions): Promise<Reading>;
  /** Waits until the watch of a cluster is told to be like this. */
  watchBecomes(cluster: string, expected: Partial<ClusterWatch>): Promise<ClusterWatch>;
  /** All keys of this rig. */
  keys(): Promise<string[]>;
}

/** To be called once at the top of a test file. */
export function linkedRig(): LinkedRig {
  const rig = {} as LinkedRig;
  const managers: ClusterManager[] = [];
  const doubles: ApiDouble[] = [];
  const secrets = new Map<string, { url: string; token: string; hash: string }>();

  beforeEach(() => {
    rig.redis = openRedis();
    rig.prefix = `t-${randomUUID()}`;
    rig.registry = createClusterRegistry(rig.redis, rig.prefix);
    rig.purger = createClusterPurger(rig.redis, rig.prefix);
  });
  afterEach(async () => {
    await Promise.all(managers.splice(0).map((manager) => manager.stop()));
    await Promise.all(doubles.splice(0).map((double) => double.close()));
    secrets.clear();
    await deleteInstall(rig.redis, rig.prefix);
    rig.redis.disconnect();
  });

  const connect = (decision: ClusterDecision): Promise<KubeClient> => {
    const secret = secrets.get(decision.secret);
    if (secret === undefined || secret.hash !== decision.accepted?.hash) {
      return Promise.reject(new Error('the Secret holds something else by now'));
    }
    const credentials = staticCredentials({ authorization: `Bearer ${secret.token}` });
    const access = { server: secret.url, insecure: false, credentials };
    return Promise.resolve(createKubeClient(access, { connections: 4, timeoutMs: 2_000 }));
  };
  const look = (): void => managers.forEach((manager) => manager.look());

  return Object.assign(rig, {
    cluster: async (options: ApiDoubleOptions = {}) => {
      const double = await ApiDouble.start({ plain: true, ...options });
      doubles.push(double);
      return double;
    },
    link: async (cluster: string, link: Link, secret = cluster) => {
      const { url, token = DOUBLE_TOKEN } = link;
      const hash = randomUUID();
      const generation = link.generation ?? (await rig.registry.nextGeneration());
      const decision = acceptedDecision(cluster, { generation, hash });
      secrets.set(`tether/${secret}`, { url, token, hash });
      await rig.registry.decide({ ...decision, secret: `tether/${secret}` });
      look();
      return generation;
    },
    contest: async (cluster: string, secret: string) => {
      const decision = acceptedDecision(cluster, { generation: 0, hash: '' });
      const lost = { verdict: 'Conflict', reason: 'taken', accepted: null } as const;
      await rig.registry.decide({ ...decision, ...lost, secret: `tether/${secret}` });
      look();
    },
    unlink: async (cluster: string) => {
      secrets.delete(`tether/${cluster}`);
      await rig.registry.forget(`tether/${cluster}`);
      look();
    },
    overwrite: (cluster: string) => {
      secrets.set(`tether/${cluster}`, { url: '', token: '', hash: 'another' });
    },
    watcher: (options: Partial<ClusterManagerDeps> = {}) => {
      const manager = new ClusterManager({ ...depsOf(rig, connect), ...options });
      managers.push(manager);
      return manager;
    },
    watch: async (cluster: string) => (await rig.registry.watches()).get(cluster),
    read: async (cluster: string) => {
      const reader = createClusterViewReader(rig.redis, rig.prefix);
      const { generation, slices } = await reader.readService(cluster, 'shop/web');
      const ips = slices.flatMap(({ endpoints }) =>
        endpoints.flatMap(({ addresses }) => addresses),
      );
      return { generation, ips: ips.toSorted() };
    },
    becomes: (cluster: string, ips: readonly string[], options: EventuallyOptions = {}) =>
      eventually(async () => {
        const found = await rig.read(cluster);
        expect(found.ips).toEqual(ips.toSorted());
        return found;
      }, options),
    watchBecomes: (cluster: string, expected: Partial<ClusterWatch>) =>
      eventually(async () => {
        const watch = await rig.watch(cluster);
        expect(watch).toMatchObject(expected);
        return watch as ClusterWatch;
      }),
    keys: () => keysOf(rig.redis, `{${rig.prefix}*`),
  });
}

type ConnectDeps = Pick<ClusterManagerDeps, 'connect'>['connect'];

function depsOf(rig: LinkedRig, connect: ConnectDeps): ClusterManagerDeps {
  const { redis, prefix, registry, purger } = rig;
  return {
    id: randomUUID(),
    registry,
    purger,
    members: createClusterMembers(redis, prefix),
    openView: (cluster, generation) =>
      createClusterViewWriter(redis, { prefix, cluster, generation, maxObjects: 10_000 }),
    owners: 1,
    connect,
    connectLocal: () => Promise.reject(new Error('there is no served cluster')),
    localWanted: () => false,
    maxObjects: 10_000,
    allowFqdn: false,
    idleMs: 75_000,
    resyncMs: 600_000,
    log: silentLogger,
    random: Math.random,
  };
}

/** A slice of the Service `shop/web`, one endpoint an address. */
export function webSlice(name: string, ips: readonly string[]): ApiObject {
  const slice = {
    metadata: { namespace: 'shop', name, labels: { [LABEL_SERVICE_NAME]: 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
  };
  return slice as ApiObject;
}

/** The Service `shop/web`, or another one there. */
export function webService(name = 'web'): ApiObject {
  return { metadata: { namespace: 'shop', name }, spec: { ports: [{ port: 80 }] } } as ApiObject;
}

/** Waits until one cluster's API server has so many open watches. */
export function watchesBecome(double: ApiDouble, count: number): Promise<void> {
  return eventually(() => expect(double.openWatches).toBe(count));
}
