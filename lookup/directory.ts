import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { LOCAL_CLUSTER } from '../core/names.ts';
import type { ClusterRegistry } from '../platform/redis/clusters/registry.ts';
import {
  AWAY,
  outdated,
  statusesOf,
  type ClusterStatus,
  type RegistryContent,
} from './clusters.ts';

export interface DirectoryDeps {
  readonly registry: Pick<ClusterRegistry, 'decisions' | 'watches' | 'now' | 'generations'>;
  /**
   * Called before the listeners of a cluster that is linked no more, or anew: what was known of one of
   * this name is of no use.
   */
  readonly forget: (cluster: string) => void;
  readonly log: Logger;
  /** ms of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** Between two looks that messages ask for, ms: a burst of them is one look. */
const PAUSE_MS = 50;
const EVERY_MS = 1_000;
/** After Redis lost its data, workers look at every Secret anew; until then no cluster is gone, ms. */
const LOSS_GRACE_MS = 120_000;

const LOST =
  'Redis lost what it held: this is the last known state, until the Secret was read anew';

/**
 * What is known of all linked clusters, always at hand: looked at each second, and at once when the
 * registry says that it changed. While Redis is away the last known state stays, and says so.
 */
export class ClusterDirectory {
  readonly #deps: DirectoryDeps;
  readonly #listeners = new Map<string, Set<() => void>>();
  #statuses: ReadonlyMap<string, ClusterStatus> = new Map();
  #known = false;
  #away = false;
  /** Redis' clock less ours. */
  #offset: number | null = null;
  #generations = 0;
  #lostAt: number | null = null;
  #looking: Promise<void> | null = null;
  #again = false;
  #closed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
  }

  /** The first look has been taken, with or without success, once this resolves. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => this.refresh(), EVERY_MS);
    this.refresh();
    await this.#looking;
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  /** False until Redis answered once. */
  get known(): boolean {
    return this.#known;
  }

  /** Whether Redis did not answer the last look. */
  get away(): boolean {
    return this.#away;
  }

  /** By Redis' clock, ms since 1970. */
  now(): number {
    return this.#deps.monotonicMs() + (this.#offset ?? 0);
  }

  get(cluster: string): ClusterStatus | undefined {
    return this.#statuses.get(cluster);
  }

  /** Those that a Secret links. */
  linked(): ReadonlyMap<string, ClusterStatus> {
    const linked = new Map(this.#statuses);
    linked.delete(LOCAL_CLUSTER);
    return linked;
  }

  /** `listener` is called when the cluster's state or reason changed, or it came or went; gives its end. */
  onChange(cluster: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(cluster) ?? new Set();
    this.#listeners.set(cluster, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(cluster) === listeners) {
        this.#listeners.delete(cluster);
      }
    };
  }

  /** Looks again, soon. */
  refresh(): void {
    if (this.#closed) return;
    if (this.#looking !== null) {
      this.#again = true;
      return;
    }
    this.#looking = this.#look().finally(() => {
      this.#looking = null;
      if (!this.#again) return;
      this.#again = false;
      setTimeout(() => this.refresh(), PAUSE_MS);
    });
  }

  async #look(): Promise<void> {
    const { registry, monotonicMs, log } = this.#deps;
    const before = monotonicMs();
    try {
      const [decisions, watches, now, generations] = await Promise.all([
        registry.decisions(),
        registry.watches(),
        registry.now(),
        registry.generations(),
      ]);
      this.#offset = now - (before + monotonicMs()) / 2;
      this.#away = false;
      this.#noteLoss(generations);
      this.#known = true;
      this.#replace(this.#withLost({ decisions, watches, now }));
    } catch (error) {
      if (!this.#away) log.debug({ error: describeError(error) }, 'the registry could not be read');
      this.#away = true;
      const old = [...this.#statuses];
      this.#replace(new Map(old.map(([name, status]) => [name, outdated(status, AWAY)])));
    }
  }

  /** The count only grows, unless Redis began anew. */
  #noteLoss(generations: number): void {
    if (generations < this.#generations) this.#lostAt = this.#deps.monotonicMs();
    this.#generations = generations;
    const since = this.#deps.monotonicMs() - (this.#lostAt ?? -Infinity);
    if (since > LOSS_GRACE_MS) this.#lostAt = null;
  }

  #withLost(content: RegistryContent): Map<string, ClusterStatus> {
    const found = statusesOf(content);
    if (this.#lostAt === null) return found;
    for (const [name, status] of this.#statuses) {
      if (!found.has(name)) found.set(name, outdated(status, LOST));
    }
    return found;
  }

  #replace(after: ReadonlyMap<string, ClusterStatus>): void {
    const before = this.#statuses;
    this.#statuses = after;
    for (const name of before.keys()) {
      if (after.has(name)) continue;
      this.#deps.forget(name);
      this.#tell(name);
    }
    for (const [name, { tag }] of after) {
      // Its view may have been read, and purged, since it went.
      if (!before.has(name)) this.#deps.forget(name);
      if (before.get(name)?.tag !== tag) this.#tell(name);
    }
  }

  #tell(cluster: string): void {
    for (const listener of this.#listeners.get(cluster) ?? []) listener();
  }

  /** The cluster's view is purged as its Secret went, whether or not the registry knows that already. */
  purged(cluster: string): void {
    const rest = new Map(this.#statuses);
    if (rest.delete(cluster)) this.#replace(rest);
    else this.#deps.forget(cluster);
    this.refresh();
  }
}
