import { afterEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { startPrivateRedis } from '../../../platform/redis/private-server.ts';
import { watchWrites, type WriteWatch } from '../../../platform/redis/write-watch.ts';
import { eventually } from '../../support/eventually.ts';
import { notedLog } from './noted.ts';

const SAID = 'too few of its replicas are there';

let redis: RedisClient | undefined;
let watch: WriteWatch | undefined;
afterEach(async () => {
  await watch?.stop();
  redis?.disconnect();
});

test('a Redis that refused writes and then is away is told as away, not as one that refuses', async () => {
  const log = notedLog();
  const lines = (text: string): string[] => log.lines.filter((line) => line.includes(text));
  const server = await startPrivateRedis({ extraArgs: ['--min-replicas-to-write', '1'] });
  redis = connectRedis(server.url, 'producer', { log });
  await checkRedis(redis, { log });
  const watched = watchWrites({ redis, prefix: 'writes', id: 'me', log });
  watch = watched;
  await eventually(() => expect(watched.refusal).toContain(SAID));

  await server.kill();
  await eventually(() => expect(watched.refusal).toBe(null));
  expect(lines('takes writes again')).toEqual([]);

  // The same refusal, when it is there again, is no news; its end is.
  const { port, password } = server;
  const extraArgs = ['--min-replicas-to-write', '1'];
  const again = await startPrivateRedis({ port, password, extraArgs });
  try {
    await eventually(() => expect(watched.refusal).toContain(SAID));
    const admin = new Redis(again.url);
    await admin.config('SET', 'min-replicas-to-write', '0').finally(() => admin.disconnect());
    await eventually(() => expect(lines('takes writes again')).toHaveLength(1));
    expect(watched.refusal).toBe(null);
    expect(lines(SAID)).toHaveLength(1);
  } finally {
    await again.stop();
  }
});
