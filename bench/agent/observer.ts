import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { monotonicMs } from '../clock.ts';
import type { World } from '../world.ts';
import { SliceLedger, type Sighting } from './slice-ledger.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const WATCH_SECONDS = 3_600;

/** Takes what an event newly shows of one Service. */
export type SightingListener = (key: string, sightings: readonly Sighting[], at: number) => void;

/** Events of slices so far, by kind. */
export interface SliceWrites {
  created: number;
  updated: number;
  deleted: number;
}

/** Sees the slices of a world as any client of the API server does: by one watch. */
export interface Observer {
  readonly ledger: SliceLedger;
  readonly writes: Readonly<SliceWrites>;
  /** When the first slice came (clock: `monotonicMs`). */
  readonly firstAt: number | undefined;
  /** Called from inside of the watch, as soon as an event was taken. */
  listen(listener: SightingListener | undefined): void;
  /**
   * Waits until every Service is right, and gives when that was.
   *
   * @throws {Error} with how many are right once the time is over, or with what ended the watch.
   */
  untilRight(timeoutMs: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts watching; resolves once the API server has accepted the watch. */
export async function startObserver(kubeconfig: string, world: World): Promise<Observer> {
  const access = await loadKubeConfig({ path: kubeconfig, env: {} });
  const client = createKubeClient(access);
  const observer = new WatchingObserver(client, world);
  try {
    await observer.start();
  } catch (error) {
    await client.close();
    throw error;
  }
  return observer;
}

class WatchingObserver implements Observer {
  readonly ledger: SliceLedger;
  readonly writes: SliceWrites = { created: 0, updated: 0, deleted: 0 };
  firstAt: number | undefined;
  readonly #client: KubeClient;
  readonly #stopping = new AbortController();
  readonly #accepted = Promise.withResolvers<void>();
  #listener: SightingListener | undefined;
  #awaited: { readonly resolve: (at: number) => void; readonly reject: (error: Error) => void }[] =
    [];
  #following: Promise<unknown> = Promise.resolve();
  #broken: Error | undefined;

  constructor(client: KubeClient, world: World) {
    this.#client = client;
    this.ledger = new SliceLedger(world);
  }

  async start(): Promise<void> {
    const from = await this.#list();
    this.#following = this.#follow(from).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      this.#broken = new Error('the observer’s watch ended', { cause: error });
      this.#accepted.reject(this.#broken);
      for (const { reject } of this.#awaited.splice(0)) reject(this.#broken);
    });
    await this.#accepted.promise;
  }

  listen(listener: SightingListener | undefined): void {
    this.#listener = listener;
  }

  async untilRight(timeoutMs: number): Promise<number> {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#allRight()) return monotonicMs();
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(this.#lateError(timeoutMs)), timeoutMs);
    const right = Promise.withResolvers<number>();
    this.#awaited.push(right);
    return Promise.race([right.promise, late.promise]).finally(() => clearTimeout(timer));
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#following;
    await this.#client.close();
  }

  /** The state before the watch; gives the version that the watch begins at. */
  async #list(): Promise<string> {
    let version = '';
    for await (const page of this.#client.list<ApiEndpointSlice>(SLICES, { what: 'list slices' })) {
      version = page.resourceVersion;
      for (const slice of page.items) {
        if (this.ledger.covers(slice)) this.ledger.apply('ADDED', slice);
      }
    }
    return version;
  }

  /**
   * The API server ends a watch whose reader is slow, as an observer is on a machine that is full: the
   * next one goes on from the version that was seen last.
   */
  async #follow(version: string): Promise<never> {
    let resourceVersion = version;
    for (;;) {
      const batches = this.#client.watch(SLICES, {
        what: 'watch slices',
        resourceVersion,
        timeoutSeconds: WATCH_SECONDS,
        idleMs: WATCH_SECONDS * 1000,
        signal: this.#stopping.signal,
      });
      for await (const batch of batches) {
        this.#accepted.resolve();
        for (const { type, object } of batch) {
          if (type === 'ERROR') throw new Error(JSON.stringify(object));
          if (type !== 'BOOKMARK') this.#take(type, object as ApiEndpointSlice);
          resourceVersion = object.metadata?.resourceVersion ?? resourceVersion;
        }
      }
    }
  }

  #take(type: 'ADDED' | 'MODIFIED' | 'DELETED', slice: ApiEndpointSlice): void {
    if (!this.ledger.covers(slice)) return;
    const at = monotonicMs();
    this.firstAt ??= at;
    if (type === 'ADDED') this.writes.created += 1;
    else if (type === 'MODIFIED') this.writes.updated += 1;
    else this.writes.deleted += 1;
    const { key, sightings } = this.ledger.apply(type, slice);
    if (sightings.length > 0) this.#listener?.(key, sightings, at);
    if (this.#awaited.length > 0 && this.#allRight()) {
      for (const { resolve } of this.#awaited.splice(0)) resolve(at);
    }
  }

  #allRight(): boolean {
    return this.ledger.right === this.ledger.services;
  }

  #lateError(timeoutMs: number): Error {
    const { right, services } = this.ledger;
    const wrong = this.ledger.wrong().slice(0, 3).join(', ');
    return new Error(
      `after ${timeoutMs / 1000} s ${right} of ${services} Services are right; not so: ${wrong}`,
    );
  }
}
