import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { masterOf } from './client.ts';
import { retryDelay } from './retry.ts';
import type { ClusterPlace, Endpoint } from './url.ts';

/** What a connection to a server has, whichever server it is. */
export type ServerOptions = RedisOptions & { readonly replyMapping: 'legacy' };

/** Which server that is. */
export type LocationOptions = Omit<RedisOptions, 'replyMapping'>;

/** A master that was replaced is noticed within this, also where nobody sends it anything, ms. */
const LOOK_EVERY_MS = 2000;
const LOOK_TIMEOUT_MS = 2000;
/** A command whose node is gone, or whose slots nobody serves, is sent again after so long, ms, … */
const AGAIN_AFTER_MS = 100;
/** … and so often: until whoever asked would have given up, or through a failover. */
const MOST_TRIES = { failsFast: 16, waits: 100 } as const;

/** What ioredis does at the end of a connection that stood. */
interface Ending {
  setStatus(status: 'end'): void;
  flushQueue(error: Error): void;
}

/**
 * ioredis' client, but for its end before it was connected: that one is told to nobody, and commands that
 * wait for the connection would do so for ever, BullMQ's worker among them.
 */
class EndingCluster extends Cluster {
  override disconnect(reconnect = false): void {
    super.disconnect(reconnect);
    if (reconnect || this.nodes().length > 0) return;
    const ending = this as unknown as Ending;
    ending.setStatus('end');
    ending.flushQueue(new Error('Connection is closed.'));
  }
}

/**
 * Opens a client of a Redis Cluster, with a connection to each of its masters.
 *
 * @param onNode called with each connection that stands, before anything is sent through it.
 */
export function openCluster(
  { nodes }: ClusterPlace,
  server: ServerOptions,
  onNode: (node: Redis) => void,
): Cluster {
  const { retryStrategy: _, reconnectOnError: __, enableOfflineQueue, ...options } = server;
  const waits = enableOfflineQueue !== false;
  const cluster = new EndingCluster(
    nodes.map(({ host, port }) => ({ host, port })),
    {
      redisOptions: options,
      enableOfflineQueue: waits,
      clusterRetryStrategy: retryDelay,
      slotsRefreshTimeout: LOOK_TIMEOUT_MS,
      maxRedirections: waits ? MOST_TRIES.waits : MOST_TRIES.failsFast,
      retryDelayOnFailover: AGAIN_AFTER_MS,
      retryDelayOnClusterDown: AGAIN_AFTER_MS,
      retryDelayOnTryAgain: AGAIN_AFTER_MS,
      // Names are looked up at each connect, and are what a certificate is compared with.
      dnsLookup: (name, callback) => callback(null, name),
    },
  );
  cluster.on('+node', (node: Redis) => node.on('connect', () => onNode(node)));
  return cluster;
}

/**
 * Keeps a connection to each master, looks now and then who the masters are, and calls `onChange` whenever one of them is another than before: it
 * was made anew, or goes to a node that has just become a master. Not for those at the start.
 */
export function followMasters(
  cluster: Cluster,
  onChange: (masters: readonly Redis[]) => void,
): void {
  let known: ReadonlySet<Redis> = new Set();
  let started = false;
  const look = (): void => {
    const masters = cluster.nodes('master');
    // ioredis connects to a node when it has something to send; then that would have to wait. Not before
    // it is ready: it asks a node that it is not connected to yet, and takes no for an answer.
    if (cluster.status === 'ready') masters.forEach(connectIdle);
    const ready = masters.filter((node) => node.status === 'ready');
    const changed = started && ready.some((node) => !known.has(node));
    known = new Set(ready);
    started ||= cluster.status === 'ready' && ready.length === masters.length;
    if (changed) onChange(ready);
  };
  cluster.on('refresh', look);
  cluster.on('+node', (node: Redis) => node.on('ready', look));
  // Not ioredis' own interval: ended while it asks, it would go on for ever.
  let timer: NodeJS.Timeout | undefined;
  cluster.on('ready', () => {
    look();
    clearInterval(timer);
    timer = setInterval(() => {
      // Ended while it was about to be ready, it says that it is, and nothing else any more.
      if (cluster.nodes().length === 0) clearInterval(timer);
      else cluster.refreshSlotsCache();
    }, LOOK_EVERY_MS).unref();
  });
  for (const over of ['disconnecting', 'close', 'end'])
    cluster.on(over, () => clearInterval(timer));
}

function connectIdle(node: Redis): void {
  if (node.status === 'wait') node.connect().catch(() => undefined);
}

/** Options of a connection that goes to one of several servers, and to another one at each attempt. */
export function oneOf(nodes: readonly Endpoint[]): LocationOptions {
  const from = Math.floor(Math.random() * nodes.length);
  return {
    ...endpoint(nodes, from),
    retryStrategy(this: RedisOptions, attempt: number) {
      // ioredis calls it on its own copy of these options, and reads that at the next attempt.
      Object.assign(this, endpoint(nodes, from + attempt));
      return retryDelay(attempt);
    },
  };
}

/**
 * Makes a connection to the master that has a key, wherever that is by then: as a refused command says, else
 * as the Cluster's client knows, for which the first attempt waits.
 */
export function openMaster(cluster: Cluster, key: string, server: ServerOptions): Redis {
  let told: LocationOptions | undefined;
  const redis = new Redis({
    ...server,
    lazyConnect: true,
    retryStrategy(this: RedisOptions, attempt: number) {
      Object.assign(this, told ?? locationOf(cluster, key));
      told = undefined;
      return retryDelay(attempt);
    },
    reconnectOnError: ({ message }) => {
      const [, host, port] = /^MOVED \d+ (.+):(\d+)$/.exec(message) ?? [];
      if (host !== undefined) told = { host, port: Number(port) };
      // 2: the refused command is sent again.
      return host !== undefined || message.startsWith('CLUSTERDOWN') ? 2 : false;
    },
  });
  const connect = redis.connect.bind(redis);
  redis.connect = async () => {
    if (redis.status === 'wait') {
      await untilStarted(cluster);
      Object.assign(redis.options, locationOf(cluster, key));
    }
    return connect();
  };
  return redis;
}

function locationOf(cluster: Cluster, key: string): LocationOptions {
  const { host, port } = masterOf(cluster, key)?.options ?? {};
  return host === undefined || port === undefined ? {} : { host, port };
}

/** Until it is ready for the first time, or was ended before. */
function untilStarted(cluster: Cluster): Promise<void> {
  if (cluster.status === 'ready' || cluster.status === 'end') return Promise.resolve();
  return new Promise((resolve) => {
    for (const event of ['ready', 'end']) cluster.once(event, resolve);
  });
}

function endpoint(nodes: readonly Endpoint[], at: number): LocationOptions {
  const node = nodes[at % nodes.length];
  return node === undefined ? {} : { host: node.host, port: node.port };
}
