import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  PrivateRedisError,
  startPrivateRedis,
  type PrivateRedis,
} from '../../platform/redis/private-server.ts';
import { identify, isAlive } from '../controlplane/identity.ts';
import { eventually } from '../support/eventually.ts';

const FIXTURE = join(import.meta.dirname, '../support/fixtures/redis-parent.ts');
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tether-redis-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** One question to a server over a connection of its own. */
async function ask<T>(url: string, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { retryStrategy: () => null, lazyConnect: true });
  // The rejected command tells; this event would say the same again.
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

async function withServer<T>(server: PrivateRedis, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await server.stop();
  }
}

test('a server takes commands with the password of its URL, and none without', async () => {
  const server = await startPrivateRedis();
  await withServer(server, async () => {
    expect(await ask(server.url, (redis) => redis.ping())).toBe('PONG');
    const socket = connect(server.port, '127.0.0.1');
    socket.end('PING\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^-NOAUTH/);
  });
});

test('it never evicts keys and writes no snapshots', async () => {
  const server = await startPrivateRedis({ extraArgs: ['--maxmemory', '64mb'] });
  await withServer(server, async () => {
    const setting = (name: string) =>
      ask(server.url, async (redis) => (await redis.config('GET', name)) as unknown);
    expect(JSON.stringify(await setting('maxmemory-policy'))).toContain('noeviction');
    expect(JSON.stringify(await setting('maxmemory'))).toContain('67108864');
    expect(JSON.stringify(await setting('save'))).toContain('""');
  });
});

test('it starts empty, whatever dump lies in its folder', async () => {
  const other = await startPrivateRedis({ dir, extraArgs: ['--dbfilename', 'dump.rdb'] });
  await withServer(other, async () => {
    await ask(other.url, async (redis) => {
      await redis.set('somebody', 'else');
      await redis.save();
    });
  });
  expect(readdirSync(dir)).toContain('dump.rdb');
  const server = await startPrivateRedis({ dir });
  await withServer(server, async () => {
    expect(await ask(server.url, (redis) => redis.dbsize())).toBe(0);
  });
});

test('it is gone after stop and after kill', async () => {
  for (const end of ['stop', 'kill'] as const) {
    const server = await startPrivateRedis();
    const identity = identify(server.pid);
    await server[end]();
    expect(identity !== undefined && isAlive(identity)).toBe(false);
  }
});

test('with appendOnly a restart under the same URL keeps the data', async () => {
  const first = await startPrivateRedis({ dir, appendOnly: true });
  await withServer(first, () => ask(first.url, (redis) => redis.set('key', 'value')));
  const { port, password } = first;
  const second = await startPrivateRedis({ dir, appendOnly: true, port, password });
  await withServer(second, async () => {
    expect(second.url).toBe(first.url);
    expect(await ask(second.url, (redis) => redis.get('key'))).toBe('value');
  });
});

test('a port that is taken is an error that says so', async () => {
  const other = createServer((socket) => socket.destroy());
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  await expect(startPrivateRedis({ port: address.port })).rejects.toThrow('Address already in use');
  other.close();
});

test('appendOnly without a place for its file is an error', async () => {
  await expect(startPrivateRedis({ appendOnly: true })).rejects.toThrow(PrivateRedisError);
});

test('it ends when its parent is killed', async () => {
  const parent = spawn(process.execPath, [FIXTURE], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const server = identify(Number(line.toString()));
  parent.kill('SIGKILL');
  if (server === undefined) throw new Error('the parent started no server');
  await eventually(() => expect(isAlive(server)).toBe(false), { timeoutMs: 5000 });
});

test('without a server program the error says what to install', async () => {
  const parent = spawn(process.execPath, [FIXTURE], {
    env: { PATH: dir },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  parent.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  await once(parent, 'close');
  expect(stderr).toContain('apt-get install redis-server');
});
