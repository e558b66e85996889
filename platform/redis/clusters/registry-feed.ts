import { describeError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { RedisAddress } from '../address.ts';
import { connectListener } from '../connect.ts';
import { registryChannel } from './keys.ts';

/**
 * Calls `onDecision` whenever a Secret was decided about, on a connection of its own. Messages may be
 * missed while Redis is away: who needs to know looks now and then by itself.
 *
 * @returns what ends it.
 */
export function openRegistryFeed(
  redisUrl: RedisAddress,
  prefix: string,
  onDecision: () => void,
  log: Logger,
): () => void {
  const redis = connectListener(redisUrl, 'blocking', { log });
  redis.on('ready', () => {
    redis.subscribe(registryChannel(prefix)).then(onDecision, (error: unknown) => {
      log.debug({ error: describeError(error) }, 'the registry of clusters is not listened to yet');
      redis.disconnect(true);
    });
  });
  // Secrets are `namespace/name`; the names of clusters, told when their watches change, have no slash.
  redis.on('message', (_channel: string, name: string) => {
    if (name.includes('/')) onDecision();
  });
  return () => redis.disconnect();
}
