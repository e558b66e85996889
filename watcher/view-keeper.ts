import type { Kind } from '../core/codec.ts';
import type { ViewWriter } from '../platform/redis/view/view-writer.ts';

export const KINDS: readonly Kind[] = ['service', 'workload', 'slice'];

/** Milliseconds. Marks expire after `ttl`, so that functions stop trusting a view nobody feeds. */
export const HEARTBEAT = { everyMs: 3_000, ttlMs: 10_000 } as const;

export interface ViewKeeperDeps {
  readonly openView: (identity: string) => ViewWriter;
  /** The identity before any list. */
  readonly identity: string;
  /** Notes a list's version in Redis and gives the identity that it belongs to. */
  readonly observeList: (kind: Kind, resourceVersion: string) => Promise<string>;
  /** Kinds whose watch is healthy now. */
  readonly healthyKinds: () => readonly Kind[];
}

/**
 * Whether the view is in sync, and what keeps it marked so: each namespace carries a birth mark from
 * the moment it was filled (its absence later means that Redis lost the data) and one mark a kind
 * that expires unless a watcher whose watch of that kind is healthy prolongs it.
 */
export class ViewKeeper {
  readonly #deps: ViewKeeperDeps;
  readonly #births = new Map<string, string>();
  readonly #seen = new Set<string>();
  readonly #listed = new Set<Kind>();
  #writer: ViewWriter;
  #inSync = false;

  constructor(deps: ViewKeeperDeps) {
    this.#deps = deps;
    this.#writer = deps.openView(deps.identity);
  }

  get writer(): ViewWriter {
    return this.#writer;
  }

  get inSync(): boolean {
    return this.#inSync;
  }

  /** A namespace has objects; one that is new to a view in sync is marked at once. */
  async seen(namespace: string): Promise<void> {
    this.#seen.add(namespace);
    if (!this.#inSync || this.#births.has(namespace)) return;
    await this.#mark(namespace, this.#deps.healthyKinds());
  }

  /** A list of one kind is complete. `moved`: it belongs to another identity than the view's. */
  async listed(
    kind: Kind,
    resourceVersion: string,
  ): Promise<'moved' | 'opened' | 'incomplete' | 'kept'> {
    const identity = await this.#deps.observeList(kind, resourceVersion);
    if (identity !== this.#writer.keys.identity) {
      this.#writer = this.#deps.openView(identity);
      this.doubt();
      return 'moved';
    }
    this.#listed.add(kind);
    if (this.#inSync) return 'kept';
    if (this.#listed.size < KINDS.length) return 'incomplete';
    const namespaces = await this.namespaces();
    await Promise.all(namespaces.map((namespace) => this.#mark(namespace, KINDS)));
    this.#inSync = true;
    return 'opened';
  }

  /** What the view holds is in doubt: all kinds must be listed again. */
  doubt(): void {
    this.#inSync = false;
    this.#births.clear();
    this.#listed.clear();
  }

  /** All namespaces of the view. */
  async namespaces(): Promise<string[]> {
    return [...new Set([...this.#seen, ...(await this.#writer.namespaces())])];
  }

  /** Names of one kind in each namespace of the view. */
  async known(kind: Kind): Promise<ReadonlyMap<string, readonly string[]>> {
    const all = await this.namespaces();
    const names = await Promise.all(all.map((namespace) => this.#writer.names(namespace, kind)));
    return new Map(all.map((namespace, at) => [namespace, names[at] ?? []]));
  }

  /** Prolongs the marks; gives the namespaces whose data is gone. */
  async beat(): Promise<string[]> {
    if (!this.#inSync) return [];
    const kinds = this.#deps.healthyKinds();
    const lost: string[] = [];
    const beatOne = async ([namespace, birth]: [string, string]): Promise<void> => {
      const alive = await this.#writer.heartbeat(namespace, birth, HEARTBEAT.ttlMs, kinds);
      if (!alive) lost.push(namespace);
    };
    await Promise.all([...this.#births].map(beatOne));
    return lost;
  }

  async #mark(namespace: string, kinds: readonly Kind[]): Promise<void> {
    const birth = await this.#writer.open(namespace);
    this.#births.set(namespace, birth);
    await this.#writer.heartbeat(namespace, birth, HEARTBEAT.ttlMs, kinds);
  }
}
