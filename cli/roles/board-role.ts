import type { Config } from '../../platform/config.ts';
import { createGate } from '../../platform/http/bearer-gate.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { flagCheck } from '../../platform/telemetry/health.ts';
import type { Role, Serving } from './serve.ts';

/** What the board stands on: a Redis, and no API server. */
export interface BoardRuntime extends Serving {
  readonly redis: RedisClient;
}

const USER = 'tether';
const TICK_MS = 1_000;
const ANYWHERE: NonNullable<Config['boardAddr']> = { host: '127.0.0.1', port: 0 };
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** Shows the jobs of both queues to whoever has the password. */
export async function startBoardRole({ config, redis, log }: BoardRuntime): Promise<Role> {
  const { boardPassword: token, boardPasswordFile: tokenFile, boardWritable: writable } = config;
  const gate = createGate({ flag: 'board-password', token, tokenFile, user: USER }, log);
  // Fastify and Bull Board are loaded where a board is wanted, and nowhere else.
  const { startBoard } = await import('../../platform/board/board-server.ts');
  const { host, port } = config.boardAddr ?? ANYWHERE;
  const prefix = config.redisPrefix;
  const server = await startBoard({ host, port, gate, writable, redis, prefix, log });
  if (!LOOPBACK.includes(host)) {
    log.warn({ host }, 'the password of the board is sent in the clear: put TLS in front of it');
  }
  const timer = setInterval(gate.tick, TICK_MS);
  const connected = (): boolean => redis.status === 'ready';
  return {
    ready: Promise.resolve(),
    liveness: [],
    readiness: [flagCheck('redis', connected, 'connected', 'Redis does not answer')],
    stop: async () => {
      clearInterval(timer);
      await server.close();
    },
  };
}
