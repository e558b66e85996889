import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../../core/errors.ts';
import { freePort } from '../../../platform/process/free-port.ts';
import type { RedisAccess } from '../../../platform/redis/address.ts';
import type { RedisClient } from '../../../platform/redis/client.ts';
import { checkRedis, connectRedis } from '../../../platform/redis/connect.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../platform/redis/private-server.ts';
import { eventually } from '../../support/eventually.ts';
import { FIRST, SECOND } from '../../unit/kube/tls-fixtures.ts';
import { failure, notedLog, type NotedLog } from './noted.ts';

const SECRET = 'hunter2-secret';

/** A server with the first certificate, for clients with the second: each is its own CA. */
let server: PrivateRedis;
let port: number;
let dir: string;
let log: NotedLog;
const open: RedisClient[] = [];

const file = (name: string, text = ''): string => {
  const path = join(dir, name);
  if (text !== '') {
    // In one step: whoever reads it meanwhile gets the old or the new one.
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
  return path;
};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-tls-'));
  port = await freePort();
  const tls = {
    '--tls-port': String(port),
    '--tls-ca-cert-file': file('clients-ca.pem', SECOND.cert),
    '--tls-cert-file': file('server.pem', FIRST.cert),
    '--tls-key-file': file('server-key.pem', FIRST.key),
  };
  server = await startPrivateRedis({ password: SECRET, extraArgs: Object.entries(tls).flat() });
});
afterAll(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(() => {
  log = notedLog();
  file('ca.pem', FIRST.cert);
  file('cert.pem', SECOND.cert);
  file('key.pem', SECOND.key);
});
afterEach(() => {
  for (const redis of open.splice(0)) redis.disconnect();
  expect(log.lines.filter((line) => line.includes(SECRET))).toEqual([]);
});

const TLS = { serverName: 'tether.test' };
const files = (): NonNullable<RedisAccess['tls']> => ({
  ...TLS,
  caFile: file('ca.pem'),
  certFile: file('cert.pem'),
  keyFile: file('key.pem'),
});

function connect(tls: RedisAccess['tls'], scheme = 'rediss', to = port): RedisClient {
  const url = `${scheme}://:${SECRET}@127.0.0.1:${to}`;
  const redis = connectRedis({ url, ...(tls && { tls }) }, 'producer', { log });
  open.push(redis);
  return redis;
}

describe('TLS', () => {
  test('is spoken with the CA and the certificate of the files', async () => {
    const redis = connect(files());
    await checkRedis(redis, { log });
    expect(await redis.ping()).toBe('PONG');
  });

  test('takes what the files hold by then when it connects again', async () => {
    file('ca.pem', SECOND.cert);
    const redis = connect(files());
    await eventually(() => expect(log.lines.join('\n')).toContain('self-signed certificate'));
    file('ca.pem', FIRST.cert);
    await eventually(() => redis.ping());
  });

  test('goes on with what it had while the files do not fit together', async () => {
    const redis = connect(files());
    await checkRedis(redis, { log });
    file('key.pem', FIRST.key);
    redis.disconnect(true);
    await eventually(() =>
      expect(log.lines.join('\n')).toContain('TLS goes on with what its files'),
    );
    await eventually(() => redis.ping());
  });

  test.each([
    ['the CA is not the server’s', () => ({ ...TLS }), /not trusted .*--redis-ca-file/],
    [
      'the name is another',
      () => ({ ...files(), serverName: 'other.test' }),
      /another name .*--redis-tls-server-name/,
    ],
  ])('is given up at once, in one sentence, when %s', async (_, tls, message) => {
    const error = await failure(() => checkRedis(connect(tls()), { log }));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('\n');
  });

  test('is given up at once when the server wants a certificate and gets none', async () => {
    const { caFile = '' } = files();
    const error = await failure(() => checkRedis(connect({ ...TLS, caFile }), { log }));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toContain('--redis-cert-file');
  });

  test('is asked about where a server does not answer it', async () => {
    const silent = connect(files(), 'rediss', server.port);
    const error = await failure(() => checkRedis(silent, { log, timeoutMs: 500 }));
    expect(error.message).toContain('does it run there, does it speak TLS, and');
  });

  test.each([
    ['is not there', 'nowhere.pem', '', /^--redis-ca-file \S+nowhere\.pem: .*ENOENT/],
    ['holds no PEM', 'rubbish.pem', 'rubbish', /^--redis-ca-file \S+rubbish\.pem: that is no PEM/],
  ])('is not tried with a file that %s', async (_, name, text, message) => {
    const error = await failure(() => connect({ caFile: file(name, text) }));
    expect(error).toBeInstanceOf(InvalidInputError);
    expect(error.message).toMatch(message);
  });
});
