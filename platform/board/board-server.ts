import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { createBullBoard } from '@bull-board/api';
import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { FastifyAdapter } from '@bull-board/fastify';
import type { Queue } from 'bullmq';
import type { fastify, FastifyInstance } from 'fastify';
import { describeError } from '../../core/errors.ts';
import { QUEUE_NAMES, queuePrefix, type QueueName } from '../../core/job.ts';
import type { Logger } from '../../core/logger.ts';
import type { Gate } from '../http/bearer-gate.ts';
import { isUsable, type RedisClient } from '../redis/client.ts';
import { listenOn } from '../telemetry/listen.ts';
import { guard } from './guard.ts';
import { shownData } from './shown-data.ts';

export interface BoardOptions {
  /** '*': every address. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly gate: Gate;
  /** Whether jobs may be retried and promoted. */
  readonly writable: boolean;
  /** A connection of role `producer`; it stays the caller's. */
  readonly redis: RedisClient;
  /** TETHER_REDIS_PREFIX, without braces. */
  readonly prefix: string;
  readonly log: Logger;
}

export interface BoardServer {
  readonly port: number;
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Stops listening and cuts what is open. */
  close(): Promise<void>;
}

const TITLE = 'Tether';
const TIMEOUT_MS = 10_000;

/*
 * By require, which the bundle of Tether does not follow: Bull Board looks for its pages beside its own
 * files, and takes queues of its own copy of BullMQ alone. Loading it all takes 160 ms of CPU and 23 MB beyond
 * a queue, so it is done here and by nobody who shows no board.
 */
const load = createRequire(import.meta.url);

/**
 * Shows both queues in Bull Board, and logs where.
 *
 * @throws ListenError when the port is taken or may not be used.
 */
export async function startBoard(options: BoardOptions): Promise<BoardServer> {
  const { fastify: createApp } = load('fastify') as { readonly fastify: typeof fastify };
  const servers: Server[] = [];
  const app = createApp({
    serverFactory: (handler) => {
      const server = createServer({ requestTimeout: TIMEOUT_MS }, handler);
      servers.push(server);
      return server;
    },
  });
  const queues = QUEUE_NAMES.map((name) => openQueue(name, options));
  const close = (): Promise<void> => closeAll(app, servers, queues);
  try {
    const { redis, prefix, log, gate, writable } = options;
    const isReady = (): boolean => isUsable(redis, queuePrefix(prefix));
    guard(app, { gate, writable, isReady, log });
    await app.register(pagesOf(queues, options));
    await app.ready();
    const [server = app.server] = servers;
    const listening = await listenOn(server, { ...options, flag: 'board-addr' });
    options.log.info({ boardUrl: listening.url, writable: options.writable }, 'showing the board');
    return { ...listening, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function openQueue(name: QueueName, { redis, prefix, log }: BoardOptions): Queue {
  const { Queue: QueueClass } = load('bullmq') as { readonly Queue: typeof Queue };
  const connection = { connection: redis, prefix: queuePrefix(prefix), skipVersionCheck: true };
  const queue = new QueueClass(name, connection);
  // The connection itself tells about outages; without a listener they would end the process.
  queue.on('error', (error) => log.debug({ queue: name }, `board: ${describeError(error)}`));
  return queue;
}

function pagesOf(queues: readonly Queue[], { writable }: BoardOptions) {
  const board = load('@bull-board/api') as { readonly createBullBoard: typeof createBullBoard };
  const { BullMQAdapter: Adapter } = load('@bull-board/api/bullMQAdapter') as {
    readonly BullMQAdapter: typeof BullMQAdapter;
  };
  const fastifyBoard = load('@bull-board/fastify') as {
    readonly FastifyAdapter: typeof FastifyAdapter;
  };
  const serverAdapter = new fastifyBoard.FastifyAdapter();
  const adapters = queues.map((queue) => {
    const adapter = new Adapter(queue, { readOnlyMode: !writable, allowRetries: writable });
    adapter.setFormatter('data', shownData);
    return adapter;
  });
  const uiConfig = { boardTitle: TITLE, hideDocsLink: true };
  board.createBullBoard({ queues: adapters, serverAdapter, options: { uiConfig } });
  return serverAdapter.registerPlugin();
}

async function closeAll(
  app: FastifyInstance,
  servers: readonly Server[],
  queues: readonly Queue[],
): Promise<void> {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await Promise.all([app.close(), ...queues.map((queue) => queue.close())]);
}
