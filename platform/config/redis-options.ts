import type { RedisAccess, RedisAddress } from '../redis/address.ts';
import { readRedisUrl } from '../redis/url.ts';
import { optional, withDefault } from './option-spec.ts';
import { anyText, hostName, keyPrefix, type Parser } from './parse.ts';

const redisUrl: Parser<string> = (text) => {
  const read = readRedisUrl(text);
  return read.ok ? { ok: true, value: text } : read;
};

/** Options of the connection to Redis. */
export const REDIS_OPTIONS = {
  redisUrl: {
    ...optional(
      'redis-url',
      'URL',
      redisUrl,
      'Redis >= 6.2 or Valkey: redis://, redis+sentinel:// or redis+cluster://; rediss… is with TLS',
    ),
    secret: true,
  },
  redisPrefix: withDefault(
    'redis-prefix',
    'tether',
    'TEXT',
    keyPrefix,
    'keeps apart several installs on one Redis',
  ),
  redisCaFile: optional(
    'redis-ca-file',
    'FILE',
    anyText,
    'PEM of the CAs that Redis’ certificate may be of; read again at each connect',
  ),
  redisCertFile: optional(
    'redis-cert-file',
    'FILE',
    anyText,
    'PEM of the certificate to show to Redis; read again likewise',
  ),
  redisKeyFile: optional('redis-key-file', 'FILE', anyText, 'PEM of the key of that certificate'),
  redisTlsServerName: optional(
    'redis-tls-server-name',
    'NAME',
    hostName,
    'name that Redis’ certificate must have (default: the host of the URL)',
  ),
  redisSentinelUser: optional(
    'redis-sentinel-user',
    'NAME',
    anyText,
    'ACL user for the Sentinels; the one in the URL is for the servers',
  ),
  redisSentinelPassword: {
    ...optional(
      'redis-sentinel-password',
      'TEXT',
      anyText,
      'password for the Sentinels; the one in the URL is for the servers',
    ),
    secret: true,
  },
} as const;

/** What was configured of these, apart from the prefix. */
export type RedisSettings = {
  readonly [K in Exclude<keyof typeof REDIS_OPTIONS, 'redisPrefix'>]?: string | undefined;
};

/** The flags among them that are for TLS alone. */
const OF_TLS = ['redisCaFile', 'redisCertFile', 'redisKeyFile', 'redisTlsServerName'] as const;
const OF_SENTINEL = ['redisSentinelUser', 'redisSentinelPassword'] as const;

/** What is wrong with the options of Redis together: the flag, and a line for people. */
export function redisConflict(
  settings: RedisSettings,
): { readonly flag: string; readonly line: string } | undefined {
  const { redisUrl: url, redisCertFile, redisKeyFile } = settings;
  const read = url === undefined ? undefined : readRedisUrl(url);
  const place = read?.ok === true ? read.value : undefined;
  const given = (names: readonly (keyof RedisSettings)[]): string | undefined => {
    const name = names.find((one) => settings[one] !== undefined);
    return name === undefined ? undefined : REDIS_OPTIONS[name].flag;
  };
  const ofTls = given(OF_TLS);
  if (ofTls !== undefined && place?.tls !== true) {
    return { flag: ofTls, line: `--${ofTls}: is for a --redis-url that begins with rediss` };
  }
  const ofSentinel = given(OF_SENTINEL);
  if (ofSentinel !== undefined && place?.kind !== 'sentinel') {
    const line = `--${ofSentinel}: is for a --redis-url of Sentinels (redis+sentinel://)`;
    return { flag: ofSentinel, line };
  }
  if ((redisCertFile === undefined) === (redisKeyFile === undefined)) return undefined;
  const [has, lacks] =
    redisCertFile === undefined
      ? ['redis-key-file', 'redis-cert-file']
      : ['redis-cert-file', 'redis-key-file'];
  return { flag: has, line: `--${has}: --${lacks} is missing` };
}

/** Where the configured Redis is; a plain URL where that says it all. */
export function redisAddress(url: string, settings: RedisSettings): RedisAddress {
  const { redisCaFile, redisCertFile, redisKeyFile, redisTlsServerName } = settings;
  const { redisSentinelUser, redisSentinelPassword } = settings;
  const tls = withoutAbsent({
    caFile: redisCaFile,
    certFile: redisCertFile,
    keyFile: redisKeyFile,
    serverName: redisTlsServerName,
  });
  const sentinel = withoutAbsent({
    username: redisSentinelUser,
    password: redisSentinelPassword,
  });
  const access: RedisAccess = { url, ...(tls && { tls }), ...(sentinel && { sentinel }) };
  return tls === undefined && sentinel === undefined ? url : access;
}

/** Undefined when nothing is left. */
function withoutAbsent<K extends string>(
  fields: Readonly<Record<K, string | undefined>>,
): Partial<Record<K, string>> | undefined {
  const there = Object.entries(fields).filter(([, value]) => value !== undefined);
  return there.length === 0 ? undefined : (Object.fromEntries(there) as Partial<Record<K, string>>);
}
