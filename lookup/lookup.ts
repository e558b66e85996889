import type { ServerResponse } from 'node:http';
import type { RedisAddress } from '../platform/redis/address.ts';
import type { RedisClient } from '../platform/redis/client.ts';
import type { Logger } from '../core/logger.ts';
import { openChangeFeed, type ChangeFeedListener } from '../platform/redis/clusters/change-feed.ts';
import { createClusterViewReader } from '../platform/redis/clusters/cluster-view-reader.ts';
import { createClusterRegistry } from '../platform/redis/clusters/registry.ts';
import { createLocalServices } from '../platform/redis/view/local-services.ts';
import type { LookupMetrics, LookupState } from '../platform/telemetry/metrics/lookup-metrics.ts';
import {
  clusterAnswer,
  clustersAnswer,
  endpointsAnswer,
  refused,
  tooOld,
  type Answer,
} from './answers.ts';
import { Cache } from './cache.ts';
import { ClusterTarget, noCluster, NOTHING_KNOWN } from './cluster-target.ts';
import { ClusterDirectory } from './directory.ts';
import type { Refusal } from './known.ts';
import { LocalNames } from './local-names.ts';
import { LocalTarget } from './local-target.ts';
import type { EndpointsRoute, Route } from './routes.ts';
import { ServiceLists } from './service-lists.ts';
import { Streams } from './stream.ts';
import type { Target, World } from './target.ts';
import { Targets } from './targets.ts';

export interface LookupOptions {
  /** Fails at once while Redis is away. */
  readonly redis: RedisClient;
  readonly redisUrl: RedisAddress;
  readonly prefix: string;
  readonly log: Logger;
  readonly metrics: Pick<LookupMetrics, 'cached' | 'delivered' | 'slowReader'>;
}

/** Events go to the socket itself, past what else might be under way on it. */
const NOT_ALONE: Refusal = {
  code: 'BadRequest',
  error: 'watch=true needs a connection without another request under way',
};
const TICK_MS = 1_000;

function listenerOf(cache: Cache, directory: ClusterDirectory): ChangeFeedListener {
  return {
    changed: (change) => {
      // What is forgotten is not read first: nobody may be told of the emptiness of a purged view.
      if (change.what === 'gone') directory.purged(change.cluster);
      else cache.changed(change);
    },
    registryChanged: () => directory.refresh(),
    missed: () => {
      cache.missed();
      directory.refresh();
    },
  };
}

/** All look-ups of a process, over what Redis holds. Nothing of it outlives the process. */
export class Lookup {
  readonly world: World;
  readonly streams: Streams;
  readonly #lists: ServiceLists;
  readonly #metrics: LookupOptions['metrics'];
  readonly #targets: Targets;
  readonly #close: () => void;

  constructor(options: LookupOptions) {
    const { redis, prefix, log, metrics } = options;
    const monotonicMs = (): number => performance.now();
    const reader = createClusterViewReader(redis, prefix);
    const listening = (): boolean => feed.listening();
    const cache = new Cache({ reader, listening, monotonicMs });
    const registry = createClusterRegistry(redis, prefix);
    const forget = (cluster: string): void => {
      cache.forget(cluster);
      this.#lists.forget(cluster);
    };
    const directory = new ClusterDirectory({ registry, forget, log, monotonicMs });
    const names = new LocalNames({ services: createLocalServices(redis, prefix), monotonicMs });
    const feed = openChangeFeed(options.redisUrl, prefix, listenerOf(cache, directory), log);
    this.world = { directory, cache, names };
    this.#lists = new ServiceLists(reader);
    this.#targets = new Targets({ make: (route) => this.#makeTarget(route), monotonicMs });
    this.#metrics = metrics;
    const { delivered, slowReader } = metrics;
    const now = (): number => directory.now();
    this.streams = new Streams({ now, monotonicMs, delivered, slowReader });
    const timer = setInterval(() => {
      cache.tick();
      this.streams.tick();
      this.#targets.tick();
      void names.tick();
    }, TICK_MS);
    this.#close = () => {
      clearInterval(timer);
      this.streams.close();
      directory.close();
      feed.close();
    };
  }

  /** Resolves once what Redis knows of the clusters was read, or could not be. */
  start(): Promise<void> {
    return this.world.directory.start();
  }

  close(): void {
    this.#close();
  }

  state(): LookupState {
    return { subscribers: this.streams.subscribers, ...this.world.cache.size() };
  }

  /** What is asked for, as long as somebody asks for it. */
  target(route: EndpointsRoute): Target {
    return this.#targets.of(route);
  }

  #makeTarget({ cluster, key, port }: EndpointsRoute): Target {
    if (cluster === '') return new LocalTarget(this.world, key, port);
    return new ClusterTarget(this.world, { cluster, key }, port);
  }

  answer(route: Exclude<Route, { kind: 'openapi' }>): Answer | Promise<Answer> {
    const { directory } = this.world;
    if (route.kind === 'endpoints') return this.#endpoints(route);
    if (!directory.known) return refused(NOTHING_KNOWN, null, 0);
    const now = directory.now();
    if (route.kind === 'clusters') return clustersAnswer(directory.linked(), now, directory.away);
    const status = directory.get(route.cluster);
    if (status === undefined) return refused(noCluster(route.cluster), null, now);
    if (route.kind === 'cluster') return clusterAnswer(status, now);
    return this.#lists.answer(status, () => directory.now(), route.maxAgeMs);
  }

  #endpoints(route: EndpointsRoute): Answer | Promise<Answer> {
    const target = this.target(route);
    const { directory } = this.world;
    const answer = (): Answer => endpointsAnswer(target.now(), directory.now(), route.maxAgeMs);
    const loading = target.load();
    this.#metrics.cached(loading === undefined);
    return loading === undefined ? answer() : loading.then(answer);
  }

  /** Takes the response over, unless there is nothing to watch: then the answer says why. */
  async watch(
    route: EndpointsRoute,
    response: ServerResponse,
    lastId: string,
  ): Promise<Answer | null> {
    const { directory } = this.world;
    const target = this.target(route);
    await target.load();
    const known = target.now();
    const now = directory.now();
    // A cluster that is linked but not in sync is waited for; what is not there at all is not.
    if (known.kind === 'absent' || known.status === null) {
      return endpointsAnswer(known, now, route.maxAgeMs);
    }
    if (route.maxAgeMs !== null) {
      const refusal = tooOld(known.status, now, route.maxAgeMs);
      if (refusal !== null) return refused(refusal, known.status, now);
    }
    // Gone while this was loading.
    if (response.destroyed) return null;
    if (response.socket === null) return refused(NOT_ALONE, null, now);
    const { cluster, key, port } = route;
    const topic = this.streams.topic(`${cluster} ${key} ${port}`, () => this.#makeTarget(route));
    this.streams.open(topic, response, lastId);
    return null;
  }
}
