import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  type KubernetesObject,
} from '@kubernetes/client-node';
import { parseAllDocuments, stringify } from 'yaml';
import {
  ACCOUNTS,
  CERTIFICATE_NAME,
  kubeconfigOf,
  SERVING_CERTIFICATE,
  TOKEN_FILE,
} from './accounts.ts';

// Makes the cluster of docker-compose.yml ready: waits for the API server, writes a kubeconfig for each
// account, and applies the CRD, the rights of the roles, and the samples. Every `up` does so anew.

const [address = 'kube-apiserver:6443'] = process.argv.slice(2);
const APP = '/app';
const RIGHTS = [
  'infra/rbac/cluster-secrets.yaml',
  'infra/rbac/watcher.yaml',
  'infra/rbac/worker.yaml',
  'infra/compose/bindings.yaml',
].map((file) => join(APP, file));
const SAMPLES = '/samples';
const TIMEOUT_MS = 60_000;
const POLL_MS = 100;

/** The token of each user. */
function readTokens(): ReadonlyMap<string, string> {
  const lines = readFileSync(TOKEN_FILE, 'utf8').trim().split('\n');
  return new Map(
    lines.map((line) => line.split(',')).map(([token = '', user = '']) => [user, token]),
  );
}

/** Waits until the API server is ready; gives its authority. */
async function untilReady(token: string): Promise<string> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (performance.now() < deadline) {
    const ca = readIfThere(SERVING_CERTIFICATE);
    if (ca !== undefined && (await isReady(ca, token))) return ca;
    await delay(POLL_MS);
  }
  throw new Error(
    `no API server was ready at ${address} within ${TIMEOUT_MS / 1000} s: ` +
      'docker compose logs kube-apiserver etcd',
  );
}

async function isReady(ca: string, token: string): Promise<boolean> {
  // The namespace is made by a loop of the server's own, a little after it calls itself ready.
  for (const path of ['/readyz', '/api/v1/namespaces/default']) {
    if ((await statusOf(path, ca, token)) !== 200) return false;
  }
  return true;
}

/** The status of a GET; undefined when no answer came. */
function statusOf(path: string, ca: string, token: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${token}` };
  const options = { ca, headers, servername: CERTIFICATE_NAME, agent: false, timeout: 5_000 };
  return new Promise((resolve) => {
    const request = get(`https://${address}${path}`, options, (response) => {
      response.resume();
      response.on('close', () => resolve(response.statusCode));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function kubeconfig(ca: string, token: string): string {
  const name = 'compose';
  const cluster = {
    server: `https://${address}`,
    // So that it holds from the host as well, where the address is another one.
    'tls-server-name': CERTIFICATE_NAME,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

function install(): void {
  const env = { ...process.env, KUBECONFIG: kubeconfigOf('admin') };
  const tether = join(APP, 'cli/bin.js');
  const { status } = spawnSync(process.execPath, [tether, 'install'], { env, stdio: 'inherit' });
  if (status !== 0) throw new Error(`tether install ended with ${status}; it says why above`);
}

async function apply(files: readonly string[]): Promise<void> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfigOf('admin'));
  const api = KubernetesObjectApi.makeApiClient(config);
  for (const object of files.flatMap(readObjects)) {
    const manager = 'tether-compose';
    const strategy = PatchStrategy.ServerSideApply;
    await api.patch(object, undefined, undefined, manager, true, strategy);
    process.stdout.write(`${object.kind} ${object.metadata?.name}: applied\n`);
  }
}

function readObjects(file: string): KubernetesObject[] {
  const documents = parseAllDocuments(readFileSync(file, 'utf8'));
  return documents.map((document) => document.toJS() as KubernetesObject);
}

function samples(): string[] {
  const files = readdirSync(SAMPLES).filter((name) => name.endsWith('.yaml'));
  return files.toSorted().map((name) => join(SAMPLES, name));
}

try {
  const tokens = readTokens();
  const ca = await untilReady(tokens.get('admin') ?? '');
  for (const { user } of ACCOUNTS) {
    // Read by a user without rights of its own, in a volume that only its container has.
    writeFileSync(kubeconfigOf(user), kubeconfig(ca, tokens.get(user) ?? ''), { mode: 0o644 });
  }
  install();
  await apply([...RIGHTS, ...samples()]);
} catch (error) {
  process.stderr.write(`setup: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
