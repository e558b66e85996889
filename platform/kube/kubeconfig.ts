import { readFile } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { InvalidInputError } from '../../core/errors.ts';
import { errorCode } from './error-code.ts';
import { accessOf } from './kubeconfig-access.ts';
import { parseKubeConfig, selectContext } from './kubeconfig-parse.ts';
import type { KubeConfigCluster, KubeConfigData, KubeConfigUser } from './kubeconfig-parse.ts';
import { inClusterAccess } from './in-cluster.ts';
import type { KubeAccess } from './kubeconfig-access.ts';

export type { KubeAccess } from './kubeconfig-access.ts';

/** The variables of the environment that say where the kubeconfig is. */
export interface KubeEnvironment {
  readonly KUBECONFIG?: string | undefined;
  readonly HOME?: string | undefined;
  readonly KUBERNETES_SERVICE_HOST?: string | undefined;
  readonly KUBERNETES_SERVICE_PORT?: string | undefined;
}

export interface LoadKubeConfigOptions {
  /** One file, which must exist; then neither KUBECONFIG nor anything else is looked at. */
  readonly path?: string;
  /** Instead of the file's current context. */
  readonly context?: string;
  readonly env: KubeEnvironment;
}

/**
 * Finds the user's own way to an API server, as kubectl does: the given path; else the files of
 * KUBECONFIG, merged (the first to name something wins, missing files are passed over); else
 * `~/.kube/config`; else the service account of the Pod. Relative paths in a file start at its folder.
 *
 * Files are read now; a token file is read again at most every 60 s (and after a 401), certificate
 * files for new connections. `exec` plugins and auth providers are run at the first request: use
 * this for the user's own file only.
 *
 * @throws InvalidInputError, with what to do, never quoting a credential.
 */
export async function loadKubeConfig(options: LoadKubeConfigOptions): Promise<KubeAccess> {
  const found = await findConfig(options);
  if (found !== undefined) {
    const selected = selectContext(found.config, options.context, found.source);
    return accessOf(selected, found.source);
  }
  if (options.context !== undefined) {
    const context = JSON.stringify(options.context);
    throw notFound(options.env, `the context ${context} was asked for, but `);
  }
  const host = options.env.KUBERNETES_SERVICE_HOST;
  if (host === undefined || host === '') throw notFound(options.env, '');
  return inClusterAccess(host, options.env.KUBERNETES_SERVICE_PORT ?? '443');
}

interface FoundConfig {
  readonly config: KubeConfigData;
  readonly source: string;
}

async function findConfig(options: LoadKubeConfigOptions): Promise<FoundConfig | undefined> {
  if (options.path !== undefined) {
    const config = await readConfigFile(options.path);
    if (config !== undefined) return { config, source: `kubeconfig ${options.path}` };
    throw new InvalidInputError('kubeconfig', `the kubeconfig ${options.path} does not exist`);
  }
  const { KUBECONFIG, HOME } = options.env;
  const listed = [...new Set((KUBECONFIG ?? '').split(delimiter).filter((path) => path !== ''))];
  const home = HOME === undefined || HOME === '' ? [] : [join(HOME, '.kube', 'config')];
  const paths = listed.length > 0 ? listed : home;
  const configs: KubeConfigData[] = [];
  for (const path of paths) {
    const config = await readConfigFile(path);
    if (config !== undefined) configs.push(config);
  }
  if (configs.length === 0 && listed.length > 0) {
    const files = listed.join(', ');
    throw new InvalidInputError('KUBECONFIG', `KUBECONFIG names ${files}, and none of them exists`);
  }
  if (configs.length === 0) return undefined;
  return { config: mergeConfigs(configs), source: `kubeconfig ${paths.join(delimiter)}` };
}

function notFound(env: KubeEnvironment, prefix: string): InvalidInputError {
  const home = env.HOME === undefined || env.HOME === '' ? '~' : env.HOME;
  return new InvalidInputError(
    'kubeconfig',
    `${prefix}no kubeconfig was found: set KUBECONFIG, or put one at ${join(home, '.kube', 'config')} ` +
      '(inside of a cluster the service account is used)',
  );
}

/** Compose v2 makes a folder of a path that it is to mount and that names nothing. */
const IS_A_FOLDER =
  'is a folder: name a file (in a container of docker compose: TETHER_KUBECONFIG_FILE named none, so that a ' +
  'folder was made there; remove it)';

/** undefined when the file does not exist. */
async function readConfigFile(path: string): Promise<KubeConfigData | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = errorCode(error) ?? 'unreadable';
    if (code === 'ENOENT') return undefined;
    const why = code === 'EISDIR' ? IS_A_FOLDER : `cannot be read (${code})`;
    throw new InvalidInputError('kubeconfig', `the kubeconfig ${path} ${why}`);
  }
  return withAbsolutePaths(parseKubeConfig(text, `kubeconfig ${path}`), dirname(resolve(path)));
}

/** As kubectl merges: of two entries of one name the first stands, whole. */
function mergeConfigs(configs: readonly KubeConfigData[]): KubeConfigData {
  const firstOf = <T>(pick: (config: KubeConfigData) => ReadonlyMap<string, T>): Map<string, T> =>
    new Map(configs.toReversed().flatMap((config) => [...pick(config)]));
  return {
    clusters: firstOf((config) => config.clusters),
    users: firstOf((config) => config.users),
    contexts: firstOf((config) => config.contexts),
    currentContext: configs.find((config) => config.currentContext !== '')?.currentContext ?? '',
  };
}

function withAbsolutePaths(config: KubeConfigData, folder: string): KubeConfigData {
  const absolute = (path: string): string => (isAbsolute(path) ? path : join(folder, path));
  const map = <T>(entries: ReadonlyMap<string, T>, change: (entry: T) => T): Map<string, T> =>
    new Map([...entries].map(([name, entry]) => [name, change(entry)]));
  return {
    ...config,
    clusters: map(config.clusters, (cluster) => clusterPaths(cluster, absolute)),
    users: map(config.users, (user) => userPaths(user, absolute)),
  };
}

type Absolute = (path: string) => string;

function clusterPaths(cluster: KubeConfigCluster, absolute: Absolute): KubeConfigCluster {
  return cluster.caFile === undefined ? cluster : { ...cluster, caFile: absolute(cluster.caFile) };
}

function userPaths(user: KubeConfigUser, absolute: Absolute): KubeConfigUser {
  const command = user.exec?.['command'];
  const relativeCommand =
    typeof command === 'string' && command.includes('/') && !isAbsolute(command);
  return {
    ...user,
    ...(user.tokenFile === undefined ? {} : { tokenFile: absolute(user.tokenFile) }),
    ...(user.certFile === undefined ? {} : { certFile: absolute(user.certFile) }),
    ...(user.keyFile === undefined ? {} : { keyFile: absolute(user.keyFile) }),
    // A bare name is looked up on the PATH; a path is relative to the file, as with kubectl.
    ...(relativeCommand ? { exec: { ...user.exec, command: absolute(command) } } : {}),
  };
}
