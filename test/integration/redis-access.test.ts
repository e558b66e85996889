import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../platform/process/free-port.ts';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { aclRules } from '../contract/redis/acl-line.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload } from '../support/objects.ts';
import { runTether, spawnTether } from '../support/processes.ts';
import { rigOf } from '../support/up-rig.ts';
import { FIRST, SECOND } from '../unit/kube/tls-fixtures.ts';

const PREFIX = 'access';
const SECRET = 'hunter2';

/** A Redis that speaks TLS to clients with a certificate, and knows a user with the rights of the docs. */
let server: PrivateRedis;
let admin: Redis;
let dir: string;
let env: Record<string, string>;
let ns: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-access-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  const ca = file('ca.pem', FIRST.cert);
  const cert = file('cert.pem', SECOND.cert);
  const key = file('key.pem', SECOND.key);
  const port = await freePort();
  const tls = {
    '--tls-port': String(port),
    '--tls-ca-cert-file': cert,
    '--tls-cert-file': ca,
    '--tls-key-file': file('server-key.pem', FIRST.key),
  };
  server = await startPrivateRedis({ extraArgs: Object.entries(tls).flat() });
  admin = new Redis(server.url);
  await admin.call('ACL', 'SETUSER', 'tether', ...aclRules(PREFIX, SECRET));
  env = {
    TETHER_REDIS_URL: `rediss://tether:${SECRET}@127.0.0.1:${port}`,
    TETHER_REDIS_PREFIX: PREFIX,
    TETHER_REDIS_CA_FILE: ca,
    TETHER_REDIS_CERT_FILE: cert,
    TETHER_REDIS_KEY_FILE: key,
    TETHER_REDIS_TLS_SERVER_NAME: 'tether.test',
  };
  ns = await freshNamespace('access');
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** What the server has refused anybody, but for a client that wanted to tell its name. */
async function refusals(): Promise<string[]> {
  const entries = (await admin.call('ACL', 'LOG')) as readonly (readonly unknown[])[];
  const objects = entries.map((entry) => String(entry[entry.indexOf('object') + 1]));
  return objects.filter((object) => !object.startsWith('client|'));
}

it('all roles work by TLS with the rights of the docs, and want no others', async () => {
  const tether = spawnTether(['up', '--log-format', 'json'], { env });
  await tether.untilLog(/"msg":"ready"/);
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
  await rigOf(() => ns).endpointsBecome('web', ['192.0.2.10 8080 ready']);
  const asked = await runTether(['reconcile', 'service', `${ns}/web`, '--wait'], { env });
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  const status = await runTether(['status'], { env });
  expect(status).toMatchObject({ code: 0, stdout: expect.stringContaining('No stuck keys.') });
  expect(await refusals()).toEqual([]);
  expect(tether.stdout()).not.toMatch(/NOPERM|hunter2/);
});
