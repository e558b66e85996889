import { Redis, type RedisOptions } from 'ioredis';
import { describeError, InvalidInputError, UnreachableError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

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
  /** Called each time the connection is usable again: Redis may have lost what it held. */
  readonly onReconnect?: () => void;
}

const CONNECT_TIMEOUT_MS = 3000;
/** Redis answers in under a millisecond; one that needs this long is frozen. */
const COMMAND_TIMEOUT_MS = 2000;
/** A connection whose other end vanished without a word is given up after this long. */
const SILENCE_MS = 5000;
const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 1000;
/** A Redis that is away is mentioned this often, not at every attempt. */
const COMPLAIN_EVERY_MS = 10_000;
const CHECK_TIMEOUT_MS = 5000;
const OLDEST_REDIS = [6, 2] as const;
/** The option that all faults of the address are faults of. */
const FIELD = 'redis-url';

const ROLE_OPTIONS: Readonly<Record<ConnectionRole, RedisOptions>> = {
  producer: {
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 1,
  },
  // BullMQ refuses anything but null: its commands must survive an outage of any length.
  consumer: { maxRetriesPerRequest: null, socketTimeout: SILENCE_MS },
  blocking: { maxRetriesPerRequest: null },
};

/**
 * Opens a connection to Redis that repairs itself for ever: attempts follow each other after 50 ms
 * at first and 1 s at most, with jitter. Returns at once; `checkRedis` waits until it is usable.
 *
 * @throws InvalidInputError for a URL that cannot be right; the message never holds the password.
 */
export function connectRedis(url: string, role: ConnectionRole, options: ConnectOptions): Redis {
  const redis = new Redis({
    ...parseRedisUrl(url),
    ...ROLE_OPTIONS[role],
    connectTimeout: CONNECT_TIMEOUT_MS,
    // A connection that never stood has nothing to say good-bye to; ioredis would wait for 2 s.
    disconnectTimeout: 100,
    retryStrategy: retryDelay,
    reconnectOnError: reconnectAfter,
    // Whoever subscribes does so each time it is ready: nobody would handle the failure of another.
    autoResubscribe: false,
    // What BullMQ expects of a reply, whichever protocol version it came by.
    replyMapping: 'legacy',
  });
  watch(redis, role, options);
  redis.on('connect', () => coalesceWrites(redis.stream));
  return redis;
}

/**
 * Sends what one turn of the event loop has to say in one system call: the answers that a turn reads
 * lead to several commands, and each write wakes Redis up, which costs more than the command itself.
 * Nothing waits for it: the turn's end is when the loop would look for answers again.
 */
function coalesceWrites(socket: Redis['stream']): void {
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

/** Milliseconds before the n-th attempt in a row (from 1): doubling from 50 ms to 1 s, up to half of it jitter. */
function retryDelay(attempt: number): number {
  const nominal = Math.min(RETRY_MIN_MS * 2 ** Math.min(attempt, 10), RETRY_MAX_MS);
  return nominal * (0.5 + Math.random() / 2);
}

/**
 * READONLY means that this server was the primary until a failover: a new connection under the same
 * name finds the new one. 2: ioredis also sends the refused command again.
 */
function reconnectAfter(error: Error): false | 2 {
  return error.message.includes('READONLY') ? 2 : false;
}

/**
 * Reads `redis[s]://[user:password@]host[:port][/db]`, or the URL of a socket. Sentinel and Cluster are not supported yet;
 * they would be told apart here, by the scheme.
 */
function parseRedisUrl(text: string): RedisOptions {
  if (text.startsWith('unix:')) return parseSocketUrl(text);
  const url = plausibleUrl(text);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6379 : Number(url.port),
    db: Number(url.pathname.slice(1)),
    ...credentialsOf(url),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

/** `unix://[user:password@]/path/of/the.sock`: a server on this machine, without TCP. */
function parseSocketUrl(text: string): RedisOptions {
  // A URL of a scheme that is not known has no user without a host; borrow one.
  const shape = text.replace(/^unix:\/\/([^/]*@)?\//, 'http://$1socket/');
  const url = URL.canParse(shape) ? new URL(shape) : undefined;
  if (url === undefined || url.hostname !== 'socket' || url.pathname === '/') {
    throw invalid(
      'a Redis URL of a socket must look like unix://[user:password@]/path/of/the.sock',
    );
  }
  return { path: decode(url.pathname), ...credentialsOf(url) };
}

function credentialsOf({ username, password }: URL): RedisOptions {
  return {
    ...(username === '' ? {} : { username: decode(username) }),
    ...(password === '' ? {} : { password: decode(password) }),
  };
}

function plausibleUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hostname === '' || url.search !== '' || url.hash !== '') {
    // The text holds a password, most likely: say what is expected instead of what was given.
    throw invalid(
      'the Redis URL must look like redis://[user:password@]host[:port][/db]; write special ' +
        'characters of the password as %XX (%2F for /, %3F for ?, %23 for #, %40 for @)',
    );
  }
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') {
    throw invalid('the Redis URL must begin with redis:// or, for TLS, rediss://');
  }
  if (!/^\/?\d{0,4}$/.test(url.pathname)) {
    throw invalid('the Redis URL must end with the number of a database, such as /0');
  }
  return url;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid('the user or the password in the Redis URL holds a % that is not part of a %XX');
  }
}

function invalid(message: string): InvalidInputError {
  return new InvalidInputError(FIELD, message);
}

/** Where a connection goes, for people: without user and password. */
function whereOf(redis: Redis): string {
  const { path, host, port } = redis.options;
  return path ?? `${host}:${port}`;
}

/** ioredis without a listener prints every failed attempt. */
function watch(redis: Redis, role: ConnectionRole, { log, onReconnect }: ConnectOptions): void {
  const where = whereOf(redis);
  let wasReady = false;
  let lostAt: number | undefined;
  let complainedAt = -Infinity;
  redis.on('error', (error: unknown) => {
    const now = performance.now();
    if (now - complainedAt < COMPLAIN_EVERY_MS) return;
    complainedAt = now;
    log.warn(
      { redis: where, connection: role },
      `Redis at ${where}: ${describeError(error)}; trying again`,
    );
  });
  redis.on('close', () => (lostAt ??= performance.now()));
  redis.on('ready', () => {
    const awayMs = lostAt === undefined ? 0 : Math.round(performance.now() - lostAt);
    lostAt = undefined;
    complainedAt = -Infinity;
    if (wasReady) {
      log.info(
        { redis: where, connection: role, awayMs },
        `Redis at ${where} is back after ${awayMs} ms`,
      );
      onReconnect?.();
    }
    wasReady = true;
  });
}

/**
 * Waits until the connection is usable, and sees that the server behind it is fit for a queue:
 * Redis 6.2 or newer or Valkey, a primary, and one that never evicts keys. To be called at start.
 *
 * @throws UnreachableError when there is no answer within `timeoutMs` (5 s).
 * @throws InvalidInputError when waiting is no use: a wrong password, an unfit server.
 */
export async function checkRedis(
  redis: Redis,
  options: { readonly log: Logger; readonly timeoutMs?: number },
): Promise<void> {
  const where = whereOf(redis);
  await untilReady(redis, where, options.timeoutMs ?? CHECK_TIMEOUT_MS);
  let info: ReadonlyMap<string, string>;
  try {
    info = parseInfo(await redis.info());
  } catch (error) {
    const reason = describeError(error);
    options.log.warn({ redis: where }, `Redis at ${where} could not be checked: ${reason}`);
    return;
  }
  if (info.get('maxmemory_policy') === undefined) {
    options.log.warn(
      { redis: where },
      `Redis at ${where} does not tell its maxmemory-policy; it must be noeviction`,
    );
  }
  const fault = faultOf(info);
  if (fault !== undefined) throw invalid(`Redis at ${where} ${fault}`);
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const fields = text
    .split(/\r?\n/)
    .map((line) => line.split(':', 2) as [string, string | undefined]);
  return new Map(fields.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function faultOf(info: ReadonlyMap<string, string>): string | undefined {
  const version = info.get('redis_version') ?? '';
  const [major = NaN, minor = NaN] = version.split('.').map(Number);
  const [wantMajor, wantMinor] = OLDEST_REDIS;
  // Valkey, too, tells a redis_version: that of the Redis it is compatible with.
  if (major < wantMajor || (major === wantMajor && minor < wantMinor)) {
    return `is version ${version}: Redis ${OLDEST_REDIS.join('.')} or newer, or Valkey, is needed`;
  }
  if (info.get('role') === 'slave')
    return 'is a replica and takes no writes: give the address of its primary';
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return undefined;
  return (
    `may throw keys away when its memory is full (maxmemory-policy ${policy}), and work with them: ` +
    'set maxmemory-policy noeviction'
  );
}

function notThere(where: string): string {
  const remedy = 'does it run there, and is --redis-url (TETHER_REDIS_URL) right?';
  return `Redis at ${where} does not answer; ${remedy}`;
}

function untilReady(redis: Redis, where: string, timeoutMs: number): Promise<void> {
  if (redis.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    let last: unknown = new Error(`no answer within ${timeoutMs} ms`);
    const settle = (error?: Error): void => {
      clearTimeout(timer);
      redis.off('ready', onReady).off('error', onError);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onReady = (): void => settle();
    const onError = (error: unknown): void => {
      last = error;
      const fault = refusalOf(error);
      if (fault !== undefined) settle(invalid(`Redis at ${where} ${fault}`));
    };
    const timer = setTimeout(() => settle(new UnreachableError(notThere(where), last)), timeoutMs);
    redis.on('ready', onReady).on('error', onError);
  });
}

/** Why the server turned the connection down for good, if it did. */
function refusalOf(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : '';
  if (message.startsWith('WRONGPASS')) return 'refuses the user or the password of the Redis URL';
  if (message.startsWith('NOAUTH')) return 'wants a password, and the Redis URL has none';
  if (message.startsWith('NOPERM') || message.startsWith('ERR '))
    return `refuses the connection: ${message}`;
  return undefined;
}
