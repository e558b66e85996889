import { startPrivateRedis } from '../../platform/redis/private-server.ts';
import { beginRun, owns, TEST_ENV } from './run.ts';

/** Jest's set-up of the unit project: one Redis for all test files, or the one that is given. */
export default async function setUpRedis(): Promise<void> {
  beginRun();
  if (process.env[TEST_ENV.redisUrl] !== undefined) return;
  const redis = await startPrivateRedis();
  owns(redis.stop);
  process.env[TEST_ENV.redisUrl] = redis.url;
}
