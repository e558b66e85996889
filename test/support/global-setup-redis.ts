import type { Config } from 'jest';
import { startPrivateRedis } from '../../platform/redis/private-server.ts';
import { beginRun, laneVariable, owns, TEST_ENV } from './run.ts';

/** What jest knows of a run; as many test files as it has workers run at once. */
export type RunOptions = Pick<Config, 'maxWorkers'>;

/** Numbers of the files that run at once: jest counts its workers from 1. */
export function lanesOf({ maxWorkers }: RunOptions): number[] {
  return Array.from({ length: Number(maxWorkers ?? 1) }, (_, at) => at + 1);
}

/** Jest's set-up of the unit project: a Redis for each file that runs at a time, or the given one. */
export default async function setUpRedis(options: RunOptions): Promise<void> {
  beginRun();
  if (process.env[TEST_ENV.redisUrl] !== undefined) return;
  for (const lane of lanesOf(options)) {
    const redis = await startPrivateRedis();
    owns(redis.stop);
    process.env[laneVariable(TEST_ENV.redisUrl, lane)] = redis.url;
    process.env[TEST_ENV.redisUrl] ??= redis.url;
  }
}
