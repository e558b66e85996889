import { basename } from 'node:path';
import { InvalidInputError, describeError } from '../../core/errors.ts';
import { errorCode } from './error-code.ts';
import { excerpt } from './answers.ts';
import type { ClientCertificate, Credentials } from './credentials.ts';
import type { KubeConfigCluster, KubeConfigUser } from './kubeconfig-parse.ts';

/** The plugin itself says how long its credential lasts; this is how often that is looked at. */
const LOOK_AGAIN_MS = 5_000;
/** A plugin may ask a slow identity provider, but a hung one must not hang a start. */
const PLUGIN_TIMEOUT_MS = 30_000;
/** No more than one forced run of a plugin in this time, whatever the server answers. */
const FORCED_RUN_MS = 10_000;

interface Obtained {
  readonly authorization?: string;
  readonly certificate?: ClientCertificate;
}

type Provider = () => Promise<Obtained>;

/**
 * Credentials from an `exec` plugin or an auth provider of the user's own kubeconfig, through
 * @kubernetes/client-node, which is imported only now: it costs 0.4 s. Never use this for a
 * kubeconfig that somebody else wrote: it runs what that file says.
 *
 * Failures are remembered for 5 s as well, so that a broken plugin is not started by every request.
 */
export function execCredentials(user: KubeConfigUser, cluster: KubeConfigCluster): Credentials {
  let provider: Provider | undefined;
  let madeAt = -Infinity;
  let askedAt = -Infinity;
  let asked: Promise<Obtained> | undefined;
  let known: Obtained | undefined;
  const ask = async (): Promise<Obtained> => {
    if (provider === undefined) {
      provider = await makeProvider(user, cluster);
      madeAt = performance.now();
    }
    known = await withDeadline(provider());
    return known;
  };
  const current = (): Obtained | Promise<Obtained> => {
    const fresh = performance.now() - askedAt < LOOK_AGAIN_MS;
    if (fresh && known !== undefined) return known;
    if (!fresh || asked === undefined) {
      askedAt = performance.now();
      known = undefined;
      asked = ask().catch((error: unknown) => Promise.reject(explain(user, error)));
    }
    return asked;
  };
  return {
    authorization() {
      const got = current();
      return got instanceof Promise ? got.then((ready) => ready.authorization) : got.authorization;
    },
    clientCertificate() {
      const got = current();
      return got instanceof Promise ? got.then((ready) => ready.certificate) : got.certificate;
    },
    refused() {
      if (performance.now() - madeAt < FORCED_RUN_MS) return;
      provider = undefined;
      askedAt = -Infinity;
    },
  };
}

async function makeProvider(user: KubeConfigUser, cluster: KubeConfigCluster): Promise<Provider> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const exec = user.exec === undefined ? {} : { exec: withExecInfo(user.exec, cluster) };
  const auth = user.authProvider === undefined ? {} : { 'auth-provider': user.authProvider };
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: 'it', cluster: { server: cluster.server } }],
      users: [{ name: 'it', user: { ...exec, ...auth } }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
      'current-context': 'it',
    }),
  );
  return async () => {
    const applied: { headers?: Record<string, unknown>; cert?: unknown; key?: unknown } = {};
    await config.applyToHTTPSOptions(applied as Parameters<typeof config.applyToHTTPSOptions>[0]);
    const header = applied.headers?.['Authorization'];
    return {
      ...(typeof header === 'string' ? { authorization: header } : {}),
      ...(typeof applied.cert === 'string' && typeof applied.key === 'string'
        ? { certificate: { cert: applied.cert, key: applied.key } }
        : {}),
    };
  };
}

/** Plugins of API version v1beta1 and v1 may insist on being told what they are run for. */
function withExecInfo(
  exec: Readonly<Record<string, unknown>>,
  cluster: KubeConfigCluster,
): Record<string, unknown> {
  const info = {
    apiVersion: exec['apiVersion'] ?? 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
    spec: { interactive: false, cluster: { server: cluster.server } },
  };
  const env: unknown[] = Array.isArray(exec['env']) ? exec['env'] : [];
  const own = { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) };
  return { ...exec, env: [own, ...env] };
}

async function withDeadline(work: Promise<Obtained>): Promise<Obtained> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${PLUGIN_TIMEOUT_MS / 1000} s`));
    }, PLUGIN_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    // The loser of the race may still fail; that failure has nobody left to hear it.
    work.catch(() => undefined);
  }
}

function explain(user: KubeConfigUser, error: unknown): InvalidInputError {
  const command = user.exec?.['command'];
  const name = user.authProvider?.['name'];
  const who =
    typeof command === 'string'
      ? `the exec plugin ${JSON.stringify(basename(command))}`
      : `the auth provider ${JSON.stringify(typeof name === 'string' ? name : '')}`;
  const missing = errorCode(error) === 'ENOENT';
  const problem = missing
    ? 'was not found; install it, or fix PATH'
    : `failed: ${excerpt(describeError(error))}`;
  return new InvalidInputError('user', `kubeconfig: ${who} ${problem}`);
}
