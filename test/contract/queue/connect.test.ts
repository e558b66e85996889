import { afterEach, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { InvalidInputError, UnreachableError } from '../../../core/errors.ts';
import { freePort } from '../../../platform/process/free-port.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { eventually } from '../../support/eventually.ts';
import { failure, notedLog } from '../redis/noted.ts';
import { startOldRedis } from '../redis/old-redis.ts';

const SECRET = 'hunter2-secret';
const log = notedLog();
const { lines } = log;

const open: RedisClient[] = [];
const servers: PrivateRedis[] = [];
afterEach(async () => {
  for (const redis of open.splice(0)) redis.disconnect();
  for (const server of servers.splice(0)) await server.stop();
  expect(lines.splice(0).filter((line) => line.includes(SECRET))).toEqual([]);
});

function connect(url: string, onReconnect?: () => void): RedisClient {
  const redis = connectRedis(url, 'producer', {
    log,
    ...(onReconnect === undefined ? {} : { onReconnect }),
  });
  open.push(redis);
  return redis;
}

async function serve(...extraArgs: string[]): Promise<PrivateRedis> {
  const server = await startPrivateRedis({ password: SECRET, extraArgs });
  servers.push(server);
  return server;
}

describe('a Redis URL', () => {
  test.each([
    ['no URL at all', `localhost ${SECRET}`],
    ['another scheme', `http://:${SECRET}@localhost`],
    ['no host', `redis://:${SECRET}@`],
    ['a port that is none', `redis://:${SECRET}@localhost:port`],
    ['a password with an unescaped /', `redis://:${SECRET}/x@localhost`],
    ['a password with an unescaped ?', `redis://:${SECRET}?x@localhost`],
    ['a password with a stray %', `redis://:${SECRET}%zz@localhost`],
    ['a database that is no number', `redis://:${SECRET}@localhost/db`],
  ])('with %s is refused without showing the password', async (_, url) => {
    const error = await failure(() => connect(url));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toContain('Redis URL');
    expect(error.message).not.toContain(SECRET);
  });
});

describe('a Redis that is fit', () => {
  test('is found so, and a role that fails fast can be used at once', async () => {
    const { url } = await serve();
    const redis = connect(`${url}/0`);
    await checkRedis(redis, { log });
    expect(await redis.ping()).toBe('PONG');
    expect(lines).toEqual([]);
  });

  test('is reconnected to after it was away, and whoever wants to know is told', async () => {
    const server = await serve();
    let reconnects = 0;
    const redis = connect(server.url, () => reconnects++);
    await checkRedis(redis, { log });
    await server.kill();
    await eventually(() => expect(redis.status).not.toBe('ready'));
    await expect(redis.ping()).rejects.toThrow();
    const { port, password } = server;
    servers.push(await startPrivateRedis({ port, password }));
    await eventually(() => expect(reconnects).toBe(1), { timeoutMs: 3000 });
    await eventually(() => redis.ping());
    expect(lines.join('\n')).toMatch(/is back after \d+ ms/);
  });

  test('is connected to anew when it became a replica: writes say so, and not each connection', async () => {
    const server = await serve();
    let reconnects = 0;
    const redis = connect(server.url, () => reconnects++);
    await checkRedis(redis, { log });
    await redis.call('REPLICAOF', '127.0.0.1', String((await serve()).port));
    for (let writes = 1; writes <= 5; writes += 1) {
      expect((await failure(() => redis.set('a', '1'))).message).toMatch(/^READONLY/);
      await eventually(() => expect(reconnects).toBe(writes));
    }
    const told = lines.filter((line) => line.includes('is back after'));
    expect(told.length).toBeLessThan(reconnects);
  });
});

describe('a Redis that is not fit is told apart in one sentence, without the password', () => {
  test('when it is not there', async () => {
    const url = `redis://:${SECRET}@127.0.0.1:${await freePort()}`;
    const error = await failure(() => checkRedis(connect(url), { log, timeoutMs: 300 }));
    expect(error).toBeInstanceOf(UnreachableError);
    // Jest's own global scope makes an error of Node's look like no Error, hence the optional word.
    expect(error.message).toMatch(
      /^Redis at 127\.0\.0\.1:\d+ does not answer; .*connect ECONNREFUSED/,
    );
  });

  test.each([
    ['the password is wrong', `:wrong-${SECRET}@`, /refuses the user or the password/],
    ['the password is missing', '', /wants a password/],
    ['the database does not exist', `:${SECRET}@`, /refuses the connection/, '/9999'],
  ])('when %s', async (_, user, message, db = '') => {
    const { port } = await serve();
    const url = `redis://${user}127.0.0.1:${port}${db}`;
    const error = await failure(() => checkRedis(connect(url), { log }));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain(SECRET);
    expect(error.message).not.toContain('\n');
  });

  test('when it may evict keys', async () => {
    const { url } = await serve('--maxmemory-policy', 'allkeys-lru');
    const error = await failure(() => checkRedis(connect(url), { log }));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toContain('set maxmemory-policy noeviction');
  });

  test('when it is a replica', async () => {
    const primary = await serve();
    const { url } = await serve('--replicaof', '127.0.0.1', String(primary.port));
    const error = await failure(() => checkRedis(connect(url), { log }));
    expect(error.message).toContain('is a replica');
  });

  test('when it is too old', async () => {
    const old = await startOldRedis('6.0.16');
    try {
      const error = await failure(() => checkRedis(connect(old.url), { log }));
      expect(error).toBeInstanceOf(InvalidInputError);
      expect(error.message).toMatch(
        /^Redis at \S+ is version 6\.0\.16: Redis 6\.2 or newer, or Valkey, is needed$/,
      );
    } finally {
      await old.stop();
    }
  });

  test('and one that does not let itself be looked at is warned about', async () => {
    const { url, port } = await serve();
    const admin = connect(url);
    await checkRedis(admin, { log });
    await admin.call('ACL', 'SETUSER', 'app', 'on', `>${SECRET}`, '~*', '+@all', '-info');
    await checkRedis(connect(`redis://app:${SECRET}@127.0.0.1:${port}`), { log });
    expect(lines.join('\n')).toContain('could not be checked');
  });
});

test('a connection that ends as it comes back leaves no subscription to fail', async () => {
  const redis = connect((await serve()).url) as Redis;
  const once = (event: string): Promise<void> =>
    new Promise((resolve) => redis.once(event, () => resolve()));
  await once('ready');
  await redis.subscribe('a-channel');
  // It ends with the last answer of its handshake.
  redis.once('connect', () => {
    const { stream } = redis;
    stream.prependListener('data', (data: Buffer) => {
      if (data.includes('redis_version')) stream.end();
    });
  });
  redis.disconnect(true);
  await once('connect');
  await once('close');
  await once('ready');
  redis.disconnect();
  await once('end');
});
