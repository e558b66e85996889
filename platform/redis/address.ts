import { InvalidInputError } from '../../core/errors.ts';
import type { RedisTls } from './tls.ts';
import { readRedisUrl, type RedisPlace } from './url.ts';

/** Whom the Sentinels take this client for; the URL's user and password are those of the servers. */
export interface SentinelLogin {
  readonly username?: string;
  readonly password?: string;
}

/** Where Redis is, and what it takes to get in beside its URL. */
export interface RedisAccess {
  readonly url: string;
  readonly tls?: RedisTls;
  readonly sentinel?: SentinelLogin;
}

/** A URL says it all where TLS needs no files and Sentinels no password. */
export type RedisAddress = string | RedisAccess;

/** The option that all faults of the address are faults of. */
export const URL_FIELD = 'redis-url';

/** @throws InvalidInputError for a URL that cannot be right; the message never holds the password. */
export function placeOf(address: RedisAddress): RedisPlace {
  const read = readRedisUrl(accessOf(address).url);
  if (read.ok) return read.value;
  throw new InvalidInputError(URL_FIELD, `the Redis URL must be ${read.expected}`);
}

export function accessOf(address: RedisAddress): RedisAccess {
  return typeof address === 'string' ? { url: address } : address;
}
