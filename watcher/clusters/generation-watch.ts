import { backoffMs } from '../../core/backoff.ts';
import { describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { REMOTE_KINDS, type RemoteKind } from '../../core/remote-records.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { PATHS } from '../../platform/kube/endpoint-api.ts';
import { sleep } from '../../platform/process/sleep.ts';
import {
  ViewClosedError,
  type ClusterViewWriter,
  type OpenedView,
} from '../../platform/redis/clusters/cluster-view-writer.ts';
import { Filler, ViewFullError } from './filler.ts';
import { GRACE_MS, KindWatch, type WatchHealth } from './kind-watch.ts';
import { findWorkloadPath } from './workload-version.ts';

/** Why a generation is not watched any more, though nobody stopped it. */
export type GenerationFault = 'closed' | 'full' | 'history';

/** What is the same for the watches of all linked clusters. */
export interface RemoteWatchSettings {
  /** Objects of one cluster at most. */
  readonly maxObjects: number;
  readonly allowFqdn: boolean;
  /** Longest silence of a watch, ms. */
  readonly idleMs: number;
  /** Time from one full comparison to the next, ms. */
  readonly resyncMs: number;
  readonly log: Logger;
  readonly random: () => number;
}

export interface GenerationWatchDeps extends RemoteWatchSettings {
  readonly writer: ClusterViewWriter;
  /** Makes the client that this generation is watched with, and that ends with it. */
  readonly connect: (signal: AbortSignal) => Promise<KubeClient>;
  /** Every kind was listed in full. */
  readonly onSynced: () => void;
  readonly onFault: (fault: GenerationFault) => void;
  readonly onChange: () => void;
}

export interface KindCounts {
  readonly kind: RemoteKind;
  readonly contactMs: number;
  readonly restarts: number;
  readonly changes: number;
}

const CONNECT_RETRY = { baseMs: 200, capMs: 5_000 } as const;

/**
 * Brings one content of a cluster Secret into its own view, and keeps it there: one client, three
 * watches. All that it opens ends with it.
 */
export class GenerationWatch {
  readonly #deps: GenerationWatchDeps;
  readonly #ending = new AbortController();
  readonly #filler: Filler;
  readonly #kinds = new Map<RemoteKind, KindWatch>();
  readonly #startedAt = performance.now();
  #client: KubeClient | null = null;
  #fault: Error | null = null;
  #connecting: Pick<WatchHealth, 'reason' | 'attempts' | 'nextTryAt'> = NOTHING_WRONG;
  #ended: Promise<void> | null = null;

  /** Starts at once, beside everything else. */
  constructor(deps: GenerationWatchDeps) {
    this.#deps = deps;
    this.#filler = new Filler({ ...deps, onEnd: (error) => this.#fail(error) });
    this.#run().catch((error: unknown) => {
      if (this.#ending.signal.aborted) return;
      const { cluster } = deps.writer;
      deps.log.error({ cluster, error: describeError(error) }, 'the watch of a cluster failed');
    });
  }

  get generation(): number {
    return this.#deps.writer.generation;
  }

  /** Objects in its view. */
  get objects(): number {
    return this.#filler.objects;
  }

  /** Every kind was listed in full since the start of this watch. */
  get synced(): boolean {
    return this.#kinds.size === REMOTE_KINDS.length && this.#all().every((kind) => kind.synced);
  }

  /** It ended by itself; `health` says why. */
  get broken(): boolean {
    return this.#fault !== null;
  }

  health(): WatchHealth {
    if (this.#fault !== null) return { ...BROKEN, reason: this.#fault.message };
    const fresh = performance.now() - this.#startedAt < GRACE_MS;
    if (this.#kinds.size === 0) return { inSync: false, healthy: fresh, ...this.#connecting };
    const kinds = this.#all().map((kind) => kind.health());
    const next = kinds.flatMap(({ nextTryAt }) => nextTryAt ?? []);
    return {
      inSync: kinds.every(({ inSync }) => inSync),
      healthy: kinds.every(({ healthy }) => healthy),
      reason: kinds.find(({ reason }) => reason !== '')?.reason ?? '',
      attempts: Math.max(...kinds.map(({ attempts }) => attempts)),
      nextTryAt: next.length === 0 ? null : Math.min(...next),
    };
  }

  /** Lists everything again, without waiting for it. */
  compare(reason: string): void {
    for (const kind of this.#all()) void kind.relist(reason);
  }

  counts(): KindCounts[] {
    return [...this.#kinds].map(([kind, watch]) => ({ kind, ...watch.counts() }));
  }

  /** Ends the watches, their connections and timers; nothing is written into the view after that. */
  stop(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #run(): Promise<void> {
    const opened = await this.#filler.open();
    const client = await this.#connected();
    if (client === null) return;
    // Stopped since: whoever did that has seen no client to close.
    if (this.#ending.signal.aborted) return client.close();
    this.#client = client;
    for (const kind of REMOTE_KINDS) this.#kinds.set(kind, this.#watch(kind, client, opened));
    await Promise.all(this.#all().map((kind) => this.#keepComparing(kind)));
  }

  /** Null once this watch is to end. */
  async #connected(): Promise<KubeClient | null> {
    const { connect, random, onChange } = this.#deps;
    const { signal } = this.#ending;
    for (let attempts = 1; !signal.aborted; attempts++) {
      try {
        const client = await connect(signal);
        if (!signal.aborted) return client;
        await client.close();
      } catch (error) {
        if (signal.aborted) break;
        const ms = backoffMs(attempts, CONNECT_RETRY, random);
        this.#connecting = { reason: describeError(error), attempts, nextTryAt: Date.now() + ms };
        onChange();
        await sleep(ms, signal);
      }
    }
    return null;
  }

  #watch(kind: RemoteKind, client: KubeClient, { positions }: OpenedView): KindWatch {
    const { writer, allowFqdn, idleMs, log, random, onChange } = this.#deps;
    const { signal } = this.#ending;
    return new KindWatch({
      cluster: writer.cluster,
      kind,
      client,
      path: PATHS[kind],
      findPath: kind === 'workload' ? () => findWorkloadPath(client, signal) : null,
      filler: this.#filler,
      position: positions.get(kind) ?? '',
      allowFqdn,
      idleMs,
      log,
      random,
      onSynced: () => {
        if (this.synced && this.#fault === null) this.#deps.onSynced();
      },
      onHistoryMoved: (error) => this.#fail(error),
      onChange,
    });
  }

  /**
   * The safety net: a watch that missed something is put right. Each kind by itself: the list of one that
   * is not served, or refused, is in coming for as long as that lasts, and no other waits for it.
   */
  async #keepComparing(kind: KindWatch): Promise<void> {
    const { resyncMs, random } = this.#deps;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await sleep(resyncMs * (0.9 + 0.2 * random()), signal);
      if (!signal.aborted) await kind.relist('resync');
    }
  }

  /** The view takes no more: the watches end, and this object says why until it is stopped. */
  #fail(error: Error): void {
    if (this.#fault !== null || this.#ending.signal.aborted) return;
    this.#fault = error;
    void this.stop();
    this.#deps.onFault(faultOf(error));
  }

  async #end(): Promise<void> {
    this.#ending.abort();
    const watches = this.#all().map((kind) => kind.stop());
    await Promise.allSettled([...watches, this.#filler.stop(), this.#client?.close()]);
  }

  #all(): KindWatch[] {
    return [...this.#kinds.values()];
  }
}

const NOTHING_WRONG = { reason: '', attempts: 0, nextTryAt: null } as const;
const BROKEN = { inSync: false, healthy: false, attempts: 0, nextTryAt: null } as const;

function faultOf(error: Error): GenerationFault {
  if (error instanceof ViewFullError) return 'full';
  return error instanceof ViewClosedError ? 'closed' : 'history';
}
