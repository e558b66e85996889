import { randomUUID } from 'node:crypto';
import type { ClusterDecision } from '../../core/cluster.ts';
import { encodeService } from '../../core/codec.ts';
import { silentLogger } from '../../core/logger.ts';
import { REMOTE_KINDS } from '../../core/remote-records.ts';
import type { ServiceRecord } from '../../core/records.ts';
import { Lookup } from '../../lookup/lookup.ts';
import { openapiText } from '../../lookup/openapi.ts';
import { startLookupServer } from '../../lookup/server.ts';
import { createGate } from '../../platform/http/bearer-gate.ts';
import type { HttpHandler } from '../../platform/http/exchange.ts';
import {
  createClusterViewWriter,
  type ClusterViewWriter,
  type RemoteChange,
} from '../../platform/redis/clusters/cluster-view-writer.ts';
import { createClusterPurger } from '../../platform/redis/clusters/purge.ts';
import {
  createClusterRegistry,
  type ClusterRegistry,
  type WatchReport,
} from '../../platform/redis/clusters/registry.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { noteScope } from '../../platform/redis/view/local-services.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import { createLookupMetrics } from '../../platform/telemetry/metrics/lookup-metrics.ts';
import { openEventStream, type EventStream, type OpenOptions } from './event-stream.ts';
import { deleteInstall, openRedis } from './redis.ts';
import { fromRun } from './run.ts';
import { acceptedDecision } from './accepted-decision.ts';

/** A linked cluster, with what workers and watchers would tell of it. */
export interface LinkedCluster {
  readonly secret: string;
  /** Of the generation that was begun last. */
  writer(): ClusterViewWriter;
  put(...changes: readonly RemoteChange[]): Promise<void>;
  /** What the worker decided, with this changed. */
  decide(over?: Partial<ClusterDecision>): Promise<void>;
  /** What the owner tells each second, with this changed. */
  tell(over?: Partial<WatchReport>): Promise<void>;
  /** Fills a newer generation beside the serving one; `promote` of its writer makes the switch. */
  rotate(): Promise<ClusterViewWriter>;
  /** The Secret goes: as workers and watchers do it. */
  unlink(): Promise<void>;
  /** The watchers' half of it alone: no worker has looked at the Secret yet. */
  purge(): Promise<void>;
}

/** What a client got; `body` is parsed JSON where there is any. */
export interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A look-up process, in this one. */
export interface Looker {
  readonly url: string;
  readonly lookup: Lookup;
  get(path: string, headers?: Readonly<Record<string, string>>, method?: string): Promise<Got>;
  watch(path: string, options?: OpenOptions): Promise<EventStream>;
  /** The lines of a metric, without its name. */
  metric(name: string): string[];
  close(): Promise<void>;
}

/** How a look-up process is started. */
export interface LookerOptions {
  /** What look-ups must bring. */
  readonly token?: string;
  /** Takes requests for a reconcile. */
  readonly trigger?: HttpHandler;
}

/** Linked clusters in a Redis under a prefix of their own, and look-ups of them. */
export interface LookupRig {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly registry: ClusterRegistry;
  /** Links a cluster that is in sync and empty; `state` none: it was accepted, and no more. */
  link(cluster: string, state?: 'ready' | 'none'): Promise<LinkedCluster>;
  /** A look-up process. */
  start(options?: LookerOptions): Promise<Looker>;
  /** Puts a Service into the view of the served cluster. */
  local(namespace: string, service: Partial<ServiceRecord> & { name: string }): Promise<void>;
  removeLocal(namespace: string, name: string): Promise<void>;
  close(): Promise<void>;
}

export function openLookupRig(redisUrl = fromRun('redisUrl')): LookupRig {
  const redis = openRedis(redisUrl);
  const prefix = `look-${randomUUID().slice(0, 8)}`;
  const registry = createClusterRegistry(redis, prefix);
  const closing: (() => Promise<void>)[] = [];
  const view = createViewWriter(redis, { prefix, identity: 'uid-1.1' }, randomUUID);
  let rv = 1;
  const mark = async (namespace: string): Promise<void> => {
    await noteScope(redis, prefix, 'uid-1');
    const birth = await view.open(namespace);
    await view.heartbeat(namespace, birth, 600_000, ['service', 'workload', 'slice']);
  };
  return {
    redis,
    prefix,
    registry,
    link: (cluster, state = 'ready') => link({ redis, prefix, registry }, cluster, state),
    start: async (options = {}) => {
      const looker = await startLooker(redisUrl, prefix, options);
      closing.push(() => looker.close());
      return looker;
    },
    local: async (namespace, over) => {
      await mark(namespace);
      const object = encodeService({ ...aLocalService(over.name, String((rv += 1))), ...over });
      await view.apply(namespace, [{ op: 'upsert', kind: 'service', object }]);
    },
    removeLocal: async (namespace, name) => {
      const of = { op: 'remove', kind: 'service', name, rv: String((rv += 1)), uid: '' } as const;
      await view.apply(namespace, [of]);
    },
    close: async () => {
      for (const close of closing.splice(0)) await close();
      await deleteInstall(redis, prefix);
      redis.disconnect();
    },
  };
}

function aLocalService(name: string, rv: string): ServiceRecord {
  return {
    name,
    uid: `uid-${name}`,
    rv,
    deleting: false,
    type: 'ClusterIP',
    clusterIP: '10.0.0.1',
    ipFamilies: ['IPv4'],
    selector: {},
    ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
    labels: {},
    publishNotReady: false,
    zoneHints: false,
  };
}

async function startLooker(
  redisUrl: string,
  prefix: string,
  { token, trigger }: LookerOptions,
): Promise<Looker> {
  const log = silentLogger;
  const gate = createGate({ flag: 'lookup-token', token }, log);
  const { record, families } = createLookupMetrics();
  const redis = connectRedis(redisUrl, 'producer', { log });
  // As the role does; without a Redis it starts all the same.
  await checkRedis(redis, { log, timeoutMs: 1_000 }).catch(() => undefined);
  const lookup = new Lookup({ redis, redisUrl, prefix, log, metrics: record });
  record.stateFrom(() => lookup.state());
  const server = await startLookupServer({
    host: '127.0.0.1',
    port: 0,
    gate,
    trigger: trigger ?? null,
    log,
    answered: record.answered,
    answers: {
      answer: lookup.answer.bind(lookup),
      watch: lookup.watch.bind(lookup),
      openapi: openapiText,
    },
  });
  await lookup.start();
  const streams: EventStream[] = [];
  return {
    url: server.url,
    lookup,
    get: (path, headers = {}, method = 'GET') => get(`${server.url}${path}`, headers, method),
    watch: async (path, options) => {
      const query = path.includes('?') ? '&watch=true' : '?watch=true';
      const stream = await openEventStream(`${server.url}${path}${query}`, options);
      streams.push(stream);
      return stream;
    },
    metric: (name) => {
      const text = families.map((family) => family.render()).join('\n');
      const lines = text.split('\n').filter((line) => line.startsWith(name));
      return lines.map((line) => line.slice(name.length).trim());
    },
    close: async () => {
      for (const stream of streams) stream.close();
      lookup.close();
      await server.close();
      redis.disconnect();
    },
  };
}

async function get(
  url: string,
  headers: Readonly<Record<string, string>>,
  method: string,
): Promise<Got> {
  const response = await fetch(url, { method, headers: { ...headers, connection: 'close' } });
  const text = await response.text();
  const body = text === '' ? {} : (JSON.parse(text) as Got['body']);
  return { status: response.status, headers: response.headers, body };
}

interface Place {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly registry: ClusterRegistry;
}

async function link(
  { redis, prefix, registry }: Place,
  cluster: string,
  state: 'ready' | 'none',
): Promise<LinkedCluster> {
  const secret = `tether/${cluster}-${randomUUID().slice(0, 4)}`;
  let generation = await registry.nextGeneration();
  const writerOf = (number: number): ClusterViewWriter =>
    createClusterViewWriter(redis, { prefix, cluster, generation: number, maxObjects: 100_000 });
  let writer = writerOf(generation);
  let serving = 0;
  const decide = (over: Partial<ClusterDecision> = {}): Promise<void> =>
    registry.decide(
      acceptedDecision(
        cluster,
        { generation, hash: 'hash', expiresAt: Date.now() + 86_400_000 },
        { secret, ...over },
      ),
    );
  const tell = async (over: Partial<WatchReport> = {}): Promise<void> => {
    const report = { ...healthyReport(cluster, serving, generation), ...over };
    serving = report.serving;
    await registry.tellWatch(report);
  };
  const begin = async (): Promise<void> => {
    writer = writerOf(generation);
    await writer.open();
    for (const kind of REMOTE_KINDS) await writer.markSynced(kind, '1');
  };
  const purge = async (): Promise<void> => {
    await createClusterPurger(redis, prefix).purgeCluster(cluster, generation);
    await registry.forgetWatch(cluster);
  };
  await decide();
  if (state === 'ready') {
    await begin();
    await writer.promote();
    await tell({ serving: generation });
  }
  return {
    secret,
    writer: () => writer,
    put: async (...changes) => void (await writer.apply(changes)),
    decide,
    tell,
    rotate: async () => {
      generation = await registry.nextGeneration();
      await decide();
      await begin();
      return writer;
    },
    unlink: async () => {
      await registry.forget(secret);
      await purge();
    },
    purge,
  };
}

function healthyReport(cluster: string, serving: number, working: number): WatchReport {
  return {
    cluster,
    owner: 'watcher-1',
    serving,
    working,
    healthy: true,
    reason: '',
    attempts: 0,
    nextTryAt: null,
    objects: 0,
    inSync: true,
  };
}
