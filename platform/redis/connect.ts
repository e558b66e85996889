import { Cluster, Redis, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { Logger } from '../../core/logger.ts';
import { accessOf, placeOf, type RedisAddress } from './address.ts';
import { nameClient, type RedisClient } from './client.ts';
import {
  openMaster,
  oneOf,
  openCluster,
  type LocationOptions,
  type ServerOptions,
} from './cluster-client.ts';
import { watchCluster, watchServer, type Watched } from './outages.ts';
import { retryDelay } from './retry.ts';
import { tlsOptions } from './tls.ts';
import { describePlace, type RedisPlace, type SentinelPlace } from './url.ts';

export { checkRedis } from './check.ts';

/**
 * What a connection is for:
 * - `producer`: short commands whose caller can try again later (adds, view, lock). They fail at once
 *   while Redis is away, and after 2 s when it does not answer.
 * - `consumer`: a BullMQ worker. Its commands wait for Redis to come back.
 * - `blocking`: commands that wait on purpose, such as XREAD BLOCK.
 */
export type ConnectionRole = 'producer' | 'consumer' | 'blocking';

export interface ConnectOptions {
  readonly log: Logger;
  /**
   * Called each time the connection is usable again, or goes to another server than before: Redis may have
   * lost what it held.
   */
  readonly onReconnect?: () => void;
}

const CONNECT_TIMEOUT_MS = 3000;
/** Redis answers in under a millisecond; one that needs this long is frozen. */
const COMMAND_TIMEOUT_MS = 2000;
/** A connection whose other end vanished without a word is given up after this long. */
const SILENCE_MS = 5000;

const ROLE_OPTIONS: Readonly<Record<ConnectionRole, RedisOptions>> = {
  producer: {
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
    // The name, the Sentinels or the Cluster may know another server by now.
    socketTimeout: SILENCE_MS,
  },
  // BullMQ refuses anything but null: its commands must survive an outage of any length.
  consumer: { maxRetriesPerRequest: null, socketTimeout: SILENCE_MS },
  blocking: { maxRetriesPerRequest: null },
};

/**
 * Opens a connection to Redis that repairs itself for ever: attempts follow each other after 50 ms
 * at first and 1 s at most, with jitter. Returns at once; `checkRedis` waits until it is usable.
 *
 * @throws InvalidInputError for a URL that cannot be right, or TLS files that are not; the message never
 *   holds a password.
 */
export function connectRedis(
  address: RedisAddress,
  role: ConnectionRole,
  options: ConnectOptions,
): RedisClient {
  const place = placeOf(address);
  const server = serverOptions(address, place, role, options.log);
  const where = describePlace(place);
  if (place.kind !== 'cluster') {
    const location = locationOf(address, place, server);
    return openServer({ ...server, ...location }, { where, role, ...options });
  }
  const cluster = openCluster(place, server, coalesceWrites);
  watchCluster(cluster, { where, role, ...options });
  return nameClient(cluster, where);
}

/**
 * Opens a connection of role `consumer`, for a BullMQ worker of the queue that has `key`. BullMQ duplicates
 * it for its blocking command; of a Cluster that becomes a connection to the one master that matters. The
 * client of a whole Cluster is not for blocking: where a node is lost BullMQ ends it and begins it anew
 * at once, which ioredis takes for two clients in one.
 *
 * @throws InvalidInputError as `connectRedis` does.
 */
export function connectConsumer(
  address: RedisAddress,
  key: string,
  options: Pick<ConnectOptions, 'log'>,
): RedisClient {
  const client = connectRedis(address, 'consumer', options);
  const place = placeOf(address);
  if (place.kind !== 'cluster' || !(client instanceof Cluster)) return client;
  const server = serverOptions(address, place, 'consumer', options.log);
  const duplicate = (_: unknown, { redisOptions }: ClusterOptions = {}): Redis => {
    const { connectionName } = redisOptions ?? {};
    const named = connectionName === undefined ? {} : { connectionName };
    return openMaster(client, key, { ...server, ...named });
  };
  return Object.assign(client, { duplicate });
}

/**
 * Opens a connection for a subscription: to the one server, or to any node of a Cluster, since each
 * passes every message on. It repairs itself for ever, in a Cluster at another node.
 *
 * @throws InvalidInputError as `connectRedis` does.
 */
export function connectListener(
  address: RedisAddress,
  role: ConnectionRole,
  options: Pick<ConnectOptions, 'log'>,
): Redis {
  const place = placeOf(address);
  const server = serverOptions(address, place, role, options.log);
  const location =
    place.kind === 'cluster' ? oneOf(place.nodes) : locationOf(address, place, server);
  return openServer({ ...server, ...location }, { where: describePlace(place), role, ...options });
}

function openServer(options: ServerOptions, watched: Watched): Redis {
  const redis = new Redis(options);
  watchServer(redis, watched);
  redis.on('connect', () => coalesceWrites(redis));
  return nameClient(redis, watched.where);
}

/** A connection beside another one, for commands that wait on purpose; it tells about no outage. */
export function connectBeside(client: RedisClient): RedisClient {
  const waiting = {
    commandTimeout: undefined,
    socketTimeout: undefined,
    maxRetriesPerRequest: null,
  } as const;
  const own =
    client instanceof Cluster
      ? client.duplicate([], { enableOfflineQueue: true, redisOptions: waiting })
      : client.duplicate({ enableOfflineQueue: true, ...waiting });
  // `client` goes to the same place and tells about its outages.
  own.on('error', () => undefined);
  return own;
}

/** What each connection to a server has, whichever server it is. */
function serverOptions(
  address: RedisAddress,
  place: RedisPlace,
  role: ConnectionRole,
  log: Logger,
): ServerOptions {
  const { username, password } = place;
  return {
    ...ROLE_OPTIONS[role],
    ...(username === undefined ? {} : { username, password: password ?? '' }),
    ...(username === undefined && password !== undefined ? { password } : {}),
    ...(place.tls ? { tls: tlsOptions(accessOf(address).tls ?? {}, log) } : {}),
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A connection that never stood has nothing to say good-bye to; ioredis would wait for 2 s.
    disconnectTimeout: 100,
    retryStrategy: retryDelay,
    reconnectOnError: (error) => reconnectAfter(error, role),
    // Whoever subscribes does so each time it is ready: nobody would handle the failure of another.
    autoResubscribe: false,
    // What BullMQ expects of a reply, whichever protocol version it came by.
    replyMapping: 'legacy',
  };
}

function locationOf(
  address: RedisAddress,
  place: Exclude<RedisPlace, { readonly kind: 'cluster' }>,
  { tls }: ServerOptions,
): LocationOptions {
  switch (place.kind) {
    case 'single':
      return { host: place.host, port: place.port, db: place.db };
    case 'socket':
      return { path: place.path };
    case 'sentinel':
      return {
        ...sentinelOptions(address, place),
        ...(tls === undefined ? {} : { sentinelTLS: tls }),
      };
  }
}

function sentinelOptions(address: RedisAddress, place: SentinelPlace): LocationOptions {
  const { username, password } = accessOf(address).sentinel ?? {};
  return {
    sentinels: place.sentinels.map(({ host, port }) => ({ host, port })),
    name: place.master,
    db: place.db,
    enableTLSForSentinelMode: place.tls,
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelRetryStrategy: retryDelay,
  };
}

/**
 * READONLY means that this server was the primary until a failover: a new connection under the same
 * name finds the new one. 2: ioredis also sends the refused command again, which only helps where commands
 * wait for that connection; whoever fails fast (1) is told what was refused.
 */
function reconnectAfter({ message }: Error, role: ConnectionRole): false | 1 | 2 {
  if (!message.includes('READONLY')) return false;
  return role === 'producer' ? 1 : 2;
}

/**
 * Sends what one turn of the event loop has to say in one system call: the answers that a turn reads
 * lead to several commands, and each write wakes Redis up, which costs more than the command itself.
 * Nothing waits for it: the turn's end is when the loop would look for answers again.
 */
function coalesceWrites({ stream: socket }: Redis): void {
  const write = socket.write.bind(socket);
  let corked = false;
  const release = (): void => {
    corked = false;
    socket.uncork();
  };
  socket.write = ((...chunk: Parameters<typeof write>) => {
    if (!corked) {
      corked = true;
      socket.cork();
      setImmediate(release);
    }
    return write(...chunk);
  }) as typeof socket.write;
}
