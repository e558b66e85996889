import type { ApiObject, ApiSecret } from '../core/api-objects.ts';
import { ApiError, describeError, isNotFound } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { CLUSTER_SECRET_TYPE, LABEL_CLUSTER_NAME } from '../core/names.ts';
import { formatKey, parseKey, type ObjectKey } from '../core/object-key.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { isClusterSecret } from '../platform/kube/cluster-secret.ts';
import { listLabelledSecrets, secretsPath } from '../platform/kube/secret-api.ts';
import type { Add } from '../platform/redis/queue/work-queue.ts';
import { KeyFeed } from './key-feed.ts';
import {
  startReflector,
  type Reflector,
  type ReflectorSink,
  type ReflectorState,
} from './reflector.ts';

export interface SecretWatcherDeps {
  readonly client: KubeClient;
  /** Where cluster Secrets live. */
  readonly namespace: string;
  /** Puts keys into the queue `cluster`. */
  readonly enqueue: (adds: readonly Add[]) => Promise<void>;
  /** Secrets that the registry knows, `namespace/name`. */
  readonly registered: () => Promise<readonly string[]>;
  /** Longest silence of the watch, ms. */
  readonly idleMs: number;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What is remembered of a Secret: nothing of its data. */
interface Known {
  readonly version: string;
  readonly isCluster: boolean;
}

const RIGHTS =
  'grant the watcher get, list and watch on secrets there (infra/rbac/cluster-secrets.yaml)';

/**
 * Follows the Secrets of one namespace that carry the label of a cluster, and has each looked at when
 * it changes, goes, or stops being a cluster Secret. It reads nothing of what is in them.
 */
export class SecretWatcher implements ReflectorSink<ApiSecret> {
  readonly #deps: SecretWatcherDeps;
  readonly #reflector: Reflector;
  readonly #feed: KeyFeed;
  readonly #known = new Map<string, Known>();
  readonly #told = new Set<string>();
  #listing = new Set<string>();
  #unknown: ReadonlySet<string> = new Set();
  /** Told of, and not over yet. */
  #trouble: 'denied' | 'other' | null = null;
  #found = 0;

  /** Starts watching. */
  constructor(deps: SecretWatcherDeps) {
    this.#deps = deps;
    this.#feed = new KeyFeed(deps);
    const { client, namespace, idleMs, log } = deps;
    const path = secretsPath(namespace);
    // What goes wrong is told by `onState`, in a line of its own.
    const quiet: Logger = { ...log, info: log.debug.bind(log), warn: log.debug.bind(log) };
    const list = { path, what: 'secrets', labelSelector: LABEL_CLUSTER_NAME, pageSize: 100 };
    this.#reflector = startReflector<ApiSecret>({
      client,
      ...list,
      sink: this,
      log: quiet,
      idleMs,
    });
  }

  /** Lists again; gives how many changes the watch had missed. */
  async relist(reason: string): Promise<number> {
    this.#found = 0;
    await this.#reflector.relist(reason);
    return this.#found;
  }

  /** All cluster Secrets there are, and those that the registry knows although they are gone. */
  async keys(): Promise<ObjectKey[]> {
    const there = this.#clusterNames().map((name) => this.#id(name));
    return [...new Set([...there, ...(await this.#deps.registered())])].map(parseKey);
  }

  /** Redis may have lost what it knew: has every Secret looked at again. */
  async enqueueAll(reason: string): Promise<void> {
    for (const key of await this.keys()) this.#feed.add(key, reason);
  }

  /**
   * Has those looked at of which nothing is known, now as at the call before: Redis has lost a decision,
   * or a job. A Secret that is just being judged has no decision yet either.
   */
  async enqueueUnknown(): Promise<void> {
    const registered = new Set(await this.#deps.registered());
    const before = this.#unknown;
    this.#unknown = new Set(this.#clusterNames().filter((name) => !registered.has(this.#id(name))));
    for (const name of this.#unknown) {
      if (before.has(name)) this.#enqueue(name, 'nothing is known of it');
    }
  }

  async stop(): Promise<void> {
    this.#feed.stop();
    await this.#reflector.stop();
  }

  onPage(items: readonly ApiSecret[]): Promise<void> {
    for (const secret of items) {
      this.#listing.add(secret.metadata?.name ?? '');
      this.#see(secret);
    }
    return Promise.resolve();
  }

  async onListed(): Promise<void> {
    const { namespace, registered } = this.#deps;
    const listed = this.#listing;
    this.#listing = new Set();
    for (const name of this.#known.keys()) if (!listed.has(name)) this.#gone(name);
    if (listed.size === 0) await this.#tellIfNoNamespace();
    // What went while nobody watched.
    for (const secret of await registered()) {
      const key = parseKey(secret);
      const there = key.namespace === namespace && this.#known.get(key.name)?.isCluster === true;
      if (!there) this.#feed.add(key, 'its Secret is gone');
    }
  }

  onListAbandoned(): void {
    this.#listing = new Set();
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', secret: ApiSecret): void {
    if (type === 'DELETED') this.#gone(secret.metadata?.name ?? '');
    else this.#see(secret);
  }

  onBatchEnd(): void {
    // The feed collects by itself.
  }

  onState(state: ReflectorState): void {
    const { log, namespace } = this.#deps;
    if (state.kind === 'watching' && this.#trouble !== null) {
      this.#trouble = null;
      log.info({ namespace }, 'cluster Secrets can be watched again');
    }
    if (state.kind !== 'retrying') return;
    const trouble = / 403 /.test(state.reason) ? 'denied' : 'other';
    if (this.#trouble === trouble) return;
    this.#trouble = trouble;
    const advice = trouble === 'denied' ? `; clusters cannot be linked: ${RIGHTS}` : '';
    const level = trouble === 'denied' ? 'warn' : 'info';
    const what = `cluster Secrets cannot be watched for now${advice}`;
    log[level]({ namespace, reason: state.reason }, what);
  }

  /**
   * Says once of each Secret with our label in another namespace that it does nothing there. Names
   * alone are asked for; without the right to see other namespaces nothing is said.
   */
  async inspect(signal: AbortSignal): Promise<void> {
    const { client, namespace, log } = this.#deps;
    let found: readonly ApiObject[];
    try {
      found = await listLabelledSecrets(client, signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) return;
      log.debug({ error: describeError(error) }, 'Secrets of other namespaces were not looked at');
      return;
    }
    for (const { metadata = {} } of found) {
      if (metadata.namespace === namespace) continue;
      this.#tellOnce(
        metadata,
        `has the label ${LABEL_CLUSTER_NAME}, but cluster Secrets live in the namespace ${namespace} (--namespace): it does nothing`,
      );
    }
  }

  /** A list of a namespace that does not exist is empty, not an error. */
  async #tellIfNoNamespace(): Promise<void> {
    const { client, namespace, log } = this.#deps;
    if (this.#told.has(namespace)) return;
    this.#told.add(namespace);
    try {
      const what = `get namespace ${namespace}`;
      await client.get<ApiObject>(`/api/v1/namespaces/${namespace}`, { what });
    } catch (error) {
      if (!isNotFound(error)) return;
      log.info(
        { namespace },
        `there is no namespace ${namespace} (--namespace): no cluster is linked until cluster Secrets are put there`,
      );
    }
  }

  #clusterNames(): string[] {
    return [...this.#known].filter(([, { isCluster }]) => isCluster).map(([name]) => name);
  }

  #id(name: string): string {
    return formatKey({ namespace: this.#deps.namespace, name });
  }

  #see(secret: ApiSecret): void {
    const { name = '', resourceVersion: version = '' } = secret.metadata ?? {};
    const before = this.#known.get(name);
    if (before?.version === version) return;
    const isCluster = isClusterSecret(secret);
    this.#known.set(name, { version, isCluster });
    if (!isCluster) {
      this.#tellOnce(
        secret.metadata ?? {},
        `has the label ${LABEL_CLUSTER_NAME}, but not the type ${CLUSTER_SECRET_TYPE}: it does nothing; make it anew with that type`,
      );
    }
    if (isCluster || before?.isCluster === true) this.#enqueue(name, 'its Secret changed');
  }

  #gone(name: string): void {
    const before = this.#known.get(name);
    this.#known.delete(name);
    if (before?.isCluster === true) this.#enqueue(name, 'its Secret is gone');
  }

  #enqueue(name: string, reason: string): void {
    this.#found += 1;
    this.#feed.add({ namespace: this.#deps.namespace, name }, reason);
  }

  #tellOnce(
    { namespace = '', name = '', uid = '' }: NonNullable<ApiObject['metadata']>,
    what: string,
  ): void {
    if (this.#told.has(uid)) return;
    this.#told.add(uid);
    const secret = formatKey({ namespace, name });
    this.#deps.log.warn({ secret }, `Secret ${secret} ${what}`);
  }
}
