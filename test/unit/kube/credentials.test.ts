import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createKubeClient } from '../../../platform/kube/client.ts';
import { fileCredentials } from '../../../platform/kube/credentials.ts';
import { execCredentials } from '../../../platform/kube/exec-credentials.ts';
import { MisbehavingApi, refuse } from '../../support/misbehaving-api.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tether-credentials-'));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true });
});

/** Moves the monotonic clock on. */
function later(ms: number): void {
  ahead += ms;
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + ahead);
}
const realNow = performance.now.bind(performance);
let ahead = 0;

describe('a token file', () => {
  test('is read again after a minute, not before', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'first\n');
    const credentials = fileCredentials({ tokenFile });
    expect(await credentials.authorization()).toBe('Bearer first');
    await writeFile(tokenFile, 'second');
    later(59_000);
    expect(await credentials.authorization()).toBe('Bearer first');
    later(2_000);
    expect(await credentials.authorization()).toBe('Bearer second');
  });

  test('is read again after a 401, but not by each of many', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'first');
    const credentials = fileCredentials({ tokenFile });
    expect(await credentials.authorization()).toBe('Bearer first');
    await writeFile(tokenFile, 'second');
    credentials.refused();
    expect(await credentials.authorization()).toBe('Bearer first');
    later(6_000);
    expect(await credentials.authorization()).toBe('Bearer second');
  });

  test('that is half written leaves the last token in use', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'first');
    const credentials = fileCredentials({ tokenFile });
    expect(await credentials.authorization()).toBe('Bearer first');
    await writeFile(tokenFile, '');
    later(61_000);
    expect(await credentials.authorization()).toBe('Bearer first');
  });

  test('rotates under a running client without a restart', async () => {
    const api = await MisbehavingApi.start();
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'first');
    const credentials = fileCredentials({ tokenFile });
    const client = createKubeClient({ server: api.url, insecure: false, credentials });
    const list = () => client.get('/apis/test/v1/things', { what: 'list things' });
    await list();
    await writeFile(tokenFile, 'second');
    api.next('list', refuse(401, { reason: 'Unauthorized' }));
    await expect(list()).rejects.toThrow('401 Unauthorized');
    later(6_000);
    await list();
    expect(api.requests.map(({ authorization }) => authorization)).toEqual([
      'Bearer first',
      'Bearer first',
      'Bearer second',
    ]);
    await client.close();
    await api.close();
  });
});

describe('an exec plugin', () => {
  const cluster = { server: 'https://one', insecure: false };

  /** A plugin that counts its runs in a file and gives the count as its token. */
  async function plugin(expires?: string) {
    const runs = join(folder, 'runs');
    const script = join(folder, 'plugin.mjs');
    await writeFile(runs, '');
    await writeFile(
      script,
      `import { appendFileSync, readFileSync } from 'node:fs';
       appendFileSync(${JSON.stringify(runs)}, 'x');
       const token = 'run-' + readFileSync(${JSON.stringify(runs)}, 'utf8').length;
       const told = JSON.parse(process.env.KUBERNETES_EXEC_INFO).spec.cluster.server;
       const status = { token: token + '-' + new URL(told).hostname, expirationTimestamp: ${JSON.stringify(expires)} };
       console.log(JSON.stringify({ kind: 'ExecCredential', status }));`,
    );
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: [script],
    };
    return { exec, count: async () => (await readFile(runs, 'utf8')).length };
  }

  test('is run once for many requests, is told the cluster, and again when it has expired', async () => {
    const { exec, count } = await plugin(new Date(Date.now() + 3_600_000).toISOString());
    const credentials = execCredentials({ exec }, cluster);
    const many = await Promise.all(
      Array.from({ length: 20 }, async () => credentials.authorization()),
    );
    expect(new Set(many)).toEqual(new Set(['Bearer run-1-one']));
    later(30_000);
    expect(await credentials.authorization()).toBe('Bearer run-1-one');
    expect(await count()).toBe(1);
    credentials.refused();
    expect(await credentials.authorization()).toBe('Bearer run-2-one');
  });

  test('that is not there is told, and not started by every request', async () => {
    const credentials = execCredentials({ exec: { command: 'no-such-plugin-here' } }, cluster);
    const message = 'the exec plugin "no-such-plugin-here" was not found; install it, or fix PATH';
    await expect(credentials.authorization()).rejects.toThrow(message);
    await expect(credentials.authorization()).rejects.toThrow(message);
  });

  test('that fails is told in one line, without what looks like a credential', async () => {
    const token = 'A'.repeat(60);
    const args = ['-e', `console.error('denied: ${token}\\nmore'); process.exit(3)`];
    const credentials = execCredentials({ exec: { command: process.execPath, args } }, cluster);
    await expect(credentials.authorization()).rejects.toThrow(/"node" failed: denied: \[…\] more/);
  });
});
