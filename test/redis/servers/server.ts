import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../platform/process/free-port.ts';
import { spawnTied, type ChildExit } from '../../../platform/process/tied-child.ts';
import { eventually } from '../../support/eventually.ts';

/** TLS of a set-up: all its servers have one certificate, which is its own CA. Paths of PEM files. */
export interface ServerTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** What the certificate says. */
  readonly serverName: string;
}

/** How to start one server of a set-up. */
export interface ServerOptions {
  /** Where its files go. */
  readonly dir: string;
  /** Lines of its configuration, on top of those that each server has. */
  readonly config: readonly string[];
  readonly password: string;
  /** To be spoken by it, with clients and other servers alike; nothing else is then. */
  readonly tls?: ServerTls;
  readonly sentinel?: boolean;
}

/** A redis-server process of a test, on a free port of the loopback. */
export interface RedisServer {
  readonly port: number;
  /** An operator's connection. */
  readonly admin: Redis;
  /** Whether it is there and answers: the connection to one that is frozen stays up. */
  readonly lives: boolean;
  /** SIGKILL, as a crash; resolves once it is gone. */
  kill(): Promise<ChildExit>;
  /** SIGSTOP: its connections stay open, and nothing is answered. */
  freeze(): void;
  thaw(): void;
  /** Starts it again where it was, with the files that it left. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Of the sentence that tests wait for: `redis-server`, or what the environment of the run puts in its place. */
const PROGRAM = 'redis-server';

export async function startServer(options: ServerOptions): Promise<RedisServer> {
  const { dir, config, password, tls, sentinel = false } = options;
  const port = await freePort();
  const folder = join(dir, String(port));
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'redis.conf');
  const lines = ['bind 127.0.0.1', 'daemonize no', 'loglevel warning', `dir ${folder}`];
  const all = [...lines, ...listening(port, tls), ...config];
  writeFileSync(file, `${all.join('\n')}\n`, { mode: 0o600 });
  const args = [file, ...(sentinel ? ['--sentinel'] : [])];
  const start = (): ReturnType<typeof spawnTied> =>
    spawnTied(PROGRAM, args, { keepsParentAlive: false });
  let child = start();
  let frozen = false;
  const freeze = (now: boolean): void => {
    frozen = now;
    child.signal(now ? 'SIGSTOP' : 'SIGCONT');
  };
  const admin = new Redis({
    port,
    host: '127.0.0.1',
    ...(password === '' ? {} : { password }),
    ...(tls && { tls: { ca: readFileSync(tls.certFile), servername: tls.serverName } }),
    retryStrategy: () => 20,
    maxRetriesPerRequest: null,
    enableReadyCheck: false,
    // Rather than wait for one that is not started again.
    commandTimeout: 2_000,
  });
  // Refused until it listens.
  admin.on('error', () => undefined);
  await untilUp(admin);
  return {
    port,
    admin,
    kill: () => child.stop(0),
    get lives() {
      return !frozen && admin.status === 'ready';
    },
    freeze: () => freeze(true),
    thaw: () => freeze(false),
    restart: async () => {
      child = start();
      await untilUp(admin);
    },
    stop: async () => {
      admin.disconnect();
      await child.stop(0);
    },
  };
}

function listening(port: number, tls: ServerTls | undefined): string[] {
  if (tls === undefined) return [`port ${port}`];
  return [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${tls.certFile}`,
    `tls-key-file ${tls.keyFile}`,
    `tls-ca-cert-file ${tls.certFile}`,
    'tls-auth-clients no',
    'tls-replication yes',
    'tls-cluster yes',
  ];
}

async function untilUp(admin: Redis): Promise<void> {
  await eventually(() => admin.ping());
}

/** A field of `INFO`, `CLUSTER INFO` and the like. */
export function fieldOf(text: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1];
}

/** Waits until a server's primary has sent it everything. */
export async function untilReplicating({ admin }: RedisServer): Promise<void> {
  await eventually(async () => {
    const link = fieldOf(await admin.info('replication'), 'master_link_status');
    if (link !== 'up') throw new Error(`the link to the primary is ${link}`);
  });
}
