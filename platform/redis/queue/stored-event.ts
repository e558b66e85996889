import type { RedisClient } from '../client.ts';
import { queuePrefix, type QueueName } from '../../../core/job.ts';
import { formatKey, type ObjectKey } from '../../../core/object-key.ts';

/** Whether an event of this key came while its job of class `event` runs: BullMQ keeps it beside. */
export async function hasStoredEvent(
  redis: RedisClient,
  prefix: string,
  name: QueueName,
  key: ObjectKey,
): Promise<boolean> {
  return (await redis.exists(`${queuePrefix(prefix)}:${name}:dn:${formatKey(key)}`)) === 1;
}
