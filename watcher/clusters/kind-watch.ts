import type { ApiObject } from '../../core/api-objects.ts';
import { describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { RemoteKind } from '../../core/remote-records.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { resourceOf } from '../../platform/kube/resource-path.ts';
import { sleep } from '../../platform/process/sleep.ts';
import { startReflector, type Reflector, type ReflectorState } from '../reflector.ts';
import type { Filler } from './filler.ts';
import { RemoteSink } from './remote-sink.ts';

export interface KindWatchDeps {
  readonly cluster: string;
  readonly kind: RemoteKind;
  readonly client: KubeClient;
  readonly path: string;
  /**
   * Asks where the cluster serves a kind that it may lack, or serve elsewhere; null for the kinds that
   * every cluster has.
   */
  readonly findPath: (() => Promise<string>) | null;
  readonly filler: Filler;
  /** The newest version of this kind that the view was shown before; '' if none. */
  readonly position: string;
  readonly allowFqdn: boolean;
  /** Longest silence of a watch, ms. */
  readonly idleMs: number;
  readonly log: Logger;
  readonly random: () => number;
  /** The kind is in the view in full, for the first time. */
  readonly onSynced: () => void;
  readonly onHistoryMoved: (error: Error) => void;
  /** What `health` tells may have changed. */
  readonly onChange: () => void;
}

/** How one watch is, or the whole of them. */
export interface WatchHealth {
  /** It stands now. */
  readonly inSync: boolean;
  /** It stands, or did a moment ago: a watch that is begun anew at once is no news. */
  readonly healthy: boolean;
  /** Why it does not stand, for a person; '' while nothing went wrong. */
  readonly reason: string;
  /** Failed tries in a row. */
  readonly attempts: number;
  /** Ms since 1970 by this process' clock. */
  readonly nextTryAt: number | null;
}

/** Ms. Cut connections, ends of a server's own accord and relists are over sooner. */
export const GRACE_MS = 2_000;

/** A first list that had no answer for so long is worth a word, ms; it may take longer. */
const SLOW_MS = 5_000;

/** A kind that is not served is looked for again after this, ms. */
const LOOK_FOR_KIND_MS = 5_000;
/** The same where the cluster did not say whether it serves the kind, ms. */
const ASK_AGAIN_MS = 1_000;

/** Objects a page of a list: a megabyte or so. A slice may hold a hundred endpoints and more. */
const PAGE_SIZES: Readonly<Record<RemoteKind, number>> = {
  service: 500,
  slice: 200,
  workload: 500,
};

/** List and watch of one kind of a linked cluster. */
export class KindWatch {
  readonly #deps: KindWatchDeps;
  readonly #ending = new AbortController();
  #reflector: Reflector;
  #path: string;
  #state: ReflectorState = { kind: 'listing' };
  #enteredAt = Date.now();
  #lastStood = performance.now();
  #synced = false;
  /** The kind was not served since the last list: what the next one shows was missed by no watch. */
  #wasMissing = false;
  #relistChanges = 0;
  #looking: Promise<void> | null = null;
  /** Why it is not known whether the kind is served elsewhere; '' when it is. */
  #unsure = '';

  /** Starts at once. */
  constructor(deps: KindWatchDeps) {
    this.#deps = deps;
    this.#path = deps.path;
    this.#reflector = this.#start(deps.position);
  }

  get synced(): boolean {
    return this.#synced;
  }

  health(): WatchHealth {
    const inSync = this.#synced && this.#stands();
    const state = this.#state;
    const failed = state.kind === 'retrying';
    return {
      inSync,
      healthy: inSync || performance.now() - this.#lastStood < GRACE_MS,
      reason: inSync ? '' : this.#reason(),
      attempts: failed ? state.attempt : 0,
      nextTryAt: failed ? this.#enteredAt + state.nextTryMs : null,
    };
  }

  counts(): { readonly contactMs: number; readonly restarts: number; readonly changes: number } {
    const { lastContactMs, restarts } = this.#reflector.health();
    return { contactMs: lastContactMs, restarts, changes: this.#relistChanges };
  }

  /** Lists anew; resolves once that is in the view, or the watch ends. */
  async relist(reason: string): Promise<void> {
    // Only the end of the watch makes it fail.
    await this.#reflector.relist(reason).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await Promise.all([this.#reflector.stop(), this.#looking]);
  }

  #start(position: string): Reflector {
    const { client, cluster, kind, filler, allowFqdn, idleMs, log, random } = this.#deps;
    const sink = new RemoteSink({
      cluster,
      kind,
      filler,
      position,
      options: { allowFqdn },
      onListed: (changed) => this.#onListed(changed),
      onHistoryMoved: this.#deps.onHistoryMoved,
      onState: (state) => this.#onState(state),
    });
    const what = `${resourceOf(this.#path)} of cluster ${cluster}`;
    const list = { path: this.#path, what, pageSize: PAGE_SIZES[kind] };
    return startReflector<ApiObject>({ client, ...list, sink, log, idleMs, random });
  }

  #onListed(changed: number): void {
    const { cluster, kind, log } = this.#deps;
    const wasMissing = this.#wasMissing;
    this.#wasMissing = false;
    if (!this.#synced) return this.#becomeSynced();
    if (wasMissing) return;
    this.#relistChanges += changed;
    if (changed > 0) {
      log.warn({ cluster, kind, changed }, 'a list found changes that the watch had missed');
    }
  }

  #becomeSynced(): void {
    this.#synced = true;
    this.#deps.onSynced();
  }

  #onState(state: ReflectorState): void {
    if (this.#stands()) this.#lastStood = performance.now();
    this.#state = state;
    this.#enteredAt = Date.now();
    const { findPath } = this.#deps;
    if (this.#missing) {
      this.#wasMissing = true;
      if (findPath !== null) this.#lookElsewhere(findPath);
    }
    this.#deps.onChange();
  }

  #lookElsewhere(findPath: () => Promise<string>): void {
    const { cluster, log } = this.#deps;
    this.#looking ??= this.#keepLooking(findPath)
      .catch((error: unknown) =>
        log.debug({ cluster, error: describeError(error) }, 'a cluster was not marked as synced'),
      )
      .finally(() => {
        this.#looking = null;
      });
  }

  /**
   * For as long as the kind is not served. At once, and before it counts as empty: a view without the
   * workloads that the cluster serves in another version is not to take the place of one with them.
   */
  async #keepLooking(findPath: () => Promise<string>): Promise<void> {
    const { signal } = this.#ending;
    while (this.#missing && !signal.aborted) {
      const path = await this.#ask(findPath);
      if (!this.#missing || signal.aborted) return;
      if (path !== null && path !== this.#path) return this.#moveTo(path);
      if (path !== null && !this.#synced) await this.#countAsEmpty();
      await sleep(path === null ? ASK_AGAIN_MS : LOOK_FOR_KIND_MS, signal);
    }
  }

  /** Null while the cluster does not say. */
  async #ask(findPath: () => Promise<string>): Promise<string | null> {
    try {
      const path = await findPath();
      this.#unsure = '';
      return path;
    } catch (error) {
      this.#unsure = describeError(error);
      this.#deps.onChange();
      return null;
    }
  }

  async #moveTo(path: string): Promise<void> {
    const before = this.#reflector;
    this.#path = path;
    await before.stop();
    if (!this.#ending.signal.aborted) this.#reflector = this.#start('');
  }

  /** Many clusters have no ExternalWorkloads, and all the same Services to look up. */
  async #countAsEmpty(): Promise<void> {
    const { filler, kind } = this.#deps;
    await filler.markSynced(kind, '');
    if (!this.#synced && !this.#ending.signal.aborted) this.#becomeSynced();
  }

  #reason(): string {
    const state = this.#state;
    if (this.#missing && this.#unsure !== '') return this.#unsure;
    if (state.kind === 'retrying' || state.kind === 'waiting-for-kind') return state.reason;
    const waits = state.kind === 'listing' && !this.#synced;
    if (!waits || this.#reflector.health().lastContactMs < SLOW_MS) return '';
    const what = `list ${resourceOf(this.#path)} of cluster ${this.#deps.cluster}`;
    return `${what}: no answer for ${SLOW_MS / 1000} s so far`;
  }

  #stands(): boolean {
    if (this.#state.kind === 'watching') return true;
    return this.#deps.findPath !== null && this.#missing;
  }

  /** The cluster does not know the kind. */
  get #missing(): boolean {
    return this.#state.kind === 'waiting-for-kind';
  }
}
