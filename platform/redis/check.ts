import type { Redis } from 'ioredis';
import { describeError, InvalidInputError, UnreachableError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { URL_FIELD } from './address.ts';
import { addressOf, isCluster, nameOf, primariesOf, type RedisClient } from './client.ts';
import { missingRights } from './rights.ts';
import { tlsFaultOf } from './tls.ts';

export interface CheckOptions {
  readonly log: Logger;
  readonly timeoutMs?: number;
  /** TETHER_REDIS_PREFIX: with it, the rights of an ACL user are tried as well. */
  readonly prefix?: string;
}

const CHECK_TIMEOUT_MS = 5000;
const OLDEST_REDIS = [6, 2] as const;

/**
 * Waits until the connection is usable, and sees that the server behind it is fit for a queue: Redis 6.2
 * or newer or Valkey, a primary, one that never evicts keys, and one that lets its user do what is needed.
 * Of a Cluster each master is looked at. To be called at start.
 *
 * @throws UnreachableError when there is no answer within `timeoutMs` (5 s).
 * @throws InvalidInputError when waiting is no use: a wrong password, an unfit server, a missing right.
 */
export async function checkRedis(client: RedisClient, options: CheckOptions): Promise<void> {
  await untilReady(client, options.timeoutMs ?? CHECK_TIMEOUT_MS);
  const primaries = primariesOf(client);
  await Promise.all(primaries.map((one) => checkServer(client, one, options)));
  const { prefix } = options;
  const user = primaries[0]?.options.username;
  if (prefix === undefined || !user) return;
  const missing = await missingRights(client, prefix);
  if (missing === '') return;
  throw invalid(
    `Redis at ${nameOf(client)} does not let its user ${user} use ${missing}: ` +
      'see "Rights" in docs/redis.md for all that it needs',
  );
}

async function checkServer(
  client: RedisClient,
  server: Redis,
  { log }: CheckOptions,
): Promise<void> {
  const where = isCluster(client) ? addressOf(server) : nameOf(client);
  let info: ReadonlyMap<string, string>;
  try {
    info = parseInfo(await server.info());
  } catch (error) {
    const reason = describeError(error);
    log.warn({ redis: where }, `Redis at ${where} could not be checked: ${reason}`);
    return;
  }
  const modeFault = modeFaultOf(info, isCluster(client));
  if (modeFault !== undefined) throw invalid(`Redis at ${where} ${modeFault}`);
  if (info.get('maxmemory_policy') === undefined) {
    log.warn(
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

/** Why a URL of another form is needed. */
function modeFaultOf(info: ReadonlyMap<string, string>, asCluster: boolean): string | undefined {
  const mode = info.get('redis_mode') ?? info.get('server_mode');
  if (mode === 'sentinel') {
    return 'is a Sentinel: give redis+sentinel://HOST:PORT,…/NAME, with the name of what it watches';
  }
  return mode === 'cluster' && !asCluster
    ? 'is a node of a Redis Cluster: give redis+cluster://HOST:PORT,…'
    : undefined;
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

function invalid(message: string): InvalidInputError {
  return new InvalidInputError(URL_FIELD, message);
}

function notThere(client: RedisClient, where: string): string {
  const { tls, ...options } = isCluster(client)
    ? (client.options.redisOptions ?? {})
    : client.options;
  // Of Sentinels and of a Cluster's first nodes ioredis does not pass on why TLS with them came to nothing.
  const hidden = isCluster(client) || ('sentinels' in options && options.sentinels);
  const trusted = hidden ? ' with a certificate that --redis-ca-file trusts' : '';
  // A server without TLS waits for the end of what it takes for a command.
  const speaks = tls === undefined ? '' : `, does it speak TLS${trusted}`;
  const remedy = `does it run there${speaks}, and is --redis-url (TETHER_REDIS_URL) right?`;
  return `Redis at ${where} does not answer; ${remedy}`;
}

/** ioredis tells what goes wrong by several events; those of one Sentinel do not count as long as another helps. */
const TROUBLE = ['error', 'node error'] as const;
const ALL_SENTINELS = 'All sentinels are unreachable';

/** Of a Cluster: until each master is connected, so that nothing has to wait for that later. */
async function untilReady(client: RedisClient, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs;
  await untilEvent(client, nameOf(client), timeoutMs);
  if (!isCluster(client)) return;
  const left = Math.max(1, until - performance.now());
  await Promise.all(client.nodes('master').map((one) => untilEvent(one, addressOf(one), left)));
}

function untilEvent(client: RedisClient, where: string, timeoutMs: number): Promise<void> {
  if (client.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    let last: unknown = new Error(`no answer within ${timeoutMs} ms`);
    let sentinel: unknown;
    const settle = (error?: Error): void => {
      clearTimeout(timer);
      client.off('ready', onReady);
      client.off('sentinelError', onSentinelError);
      for (const event of TROUBLE) client.off(event, onError);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onReady = (): void => settle();
    const onSentinelError = (error: unknown): void => {
      sentinel = error;
    };
    const onError = (error: unknown): void => {
      last = error;
      const fault = describeError(error).startsWith(ALL_SENTINELS)
        ? sentinelRefusalOf(sentinel)
        : refusalOf(error);
      if (fault !== undefined) settle(invalid(`Redis at ${where} ${fault}`));
    };
    const timer = setTimeout(
      () => settle(new UnreachableError(notThere(client, where), last)),
      timeoutMs,
    );
    client.on('ready', onReady);
    client.on('sentinelError', onSentinelError);
    for (const event of TROUBLE) client.on(event, onError);
  });
}

/** Why the server turned the connection down for good, if it did. */
function refusalOf(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : '';
  const tls = tlsFaultOf(error);
  if (tls !== undefined) return tls;
  if (message.startsWith('WRONGPASS')) return 'refuses the user or the password of the Redis URL';
  if (message.startsWith('NOAUTH')) return 'wants a password, and the Redis URL has none';
  if (message.includes('cluster support disabled'))
    return 'is no node of a Redis Cluster: give redis://HOST:PORT';
  if (message.startsWith('NOPERM') || message.startsWith('ERR '))
    return `refuses the connection: ${message}`;
  return undefined;
}

/** Why no Sentinel can help, if that is what the last of them said. */
function sentinelRefusalOf(error: unknown): string | undefined {
  const message = describeError(error);
  if (message.includes('got an invalid reply') || message.includes('No such master')) {
    return 'is not known to the Sentinels: is the name at the end of the URL right?';
  }
  if (message.includes('WRONGPASS') || message.includes('invalid password')) {
    return 'cannot be asked for: a Sentinel refuses --redis-sentinel-user or --redis-sentinel-password';
  }
  if (message.includes('NOAUTH')) {
    return 'cannot be asked for: a Sentinel wants a password: give --redis-sentinel-password';
  }
  return message.includes('unknown command')
    ? 'cannot be asked for: what the URL names is no Sentinel but a Redis: give redis://HOST:PORT'
    : undefined;
}
