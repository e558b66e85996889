import type { ApiObject } from '../core/api-objects.ts';
import type { Kind } from '../core/codec.ts';
import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { managedBySelector } from '../core/managers.ts';
import type { ObjectKey } from '../core/object-key.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { PATHS } from '../platform/kube/endpoint-api.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';
import { resourceOf } from '../platform/kube/resource-path.ts';
import type { History, IdentityStore } from '../platform/redis/view/identity.ts';
import type { ViewWriter } from '../platform/redis/view/view-writer.ts';
import { ADOPTION_DELAY_MS, AdoptionPath } from './adoption-path.ts';
import { Comeback } from './comeback.ts';
import { Dispatcher } from './dispatcher.ts';
import { DirectPath, EchoFilter, type EventPath } from './event-path.ts';
import { KindSink, type CompleteList } from './kind-sink.ts';
import {
  startReflector,
  type Reflector,
  type ReflectorSink,
  type ReflectorState,
} from './reflector.ts';
import { NewHistory } from './new-history.ts';
import { Rebuild } from './rebuild.ts';
import { createSweeper, sweepEach, type Sweeper } from './sweeper.ts';
import { HEARTBEAT, KINDS, ViewKeeper } from './view-keeper.ts';

/**
 * Objects a page of a list: some two to five megabytes. Each page of workloads is 30 ms of waiting. A slice
 * may hold a hundred endpoints and more.
 */
const PAGE_SIZES: Readonly<Record<Kind, number>> = { service: 2_000, workload: 4_000, slice: 500 };

export interface LocalWatcherDeps {
  readonly client: KubeClient;
  readonly queue: WorkQueue;
  readonly openView: (identity: string) => ViewWriter;
  readonly identities: Pick<IdentityStore, 'observeList' | 'identityOf' | 'notePositions'>;
  /** As it was before this watcher. */
  readonly history: History;
  readonly manager: string;
  /** Managers whose slices are taken over: watched like ours. */
  readonly adopt: readonly string[];
  readonly accepts: (namespace: string) => boolean;
  /** Longest silence of a watch, ms. */
  readonly idleMs: number;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: () => number;
  readonly report: WatchReport;
  /** Listens along to the Services. */
  readonly tapServices?: (sink: ReflectorSink<ApiObject>) => ReflectorSink<ApiObject>;
}

/** While the API server does not answer each kind is tried so often at least, ms. */
const UNREACHABLE_CAP_MS = 1_000;

const LIST_AGAIN = {
  moved: 'the history of the API server went back; listing everything again',
  lost: 'Redis lost data while the view was being filled; listing everything again',
} as const;

export interface WatchReport {
  state(kind: Kind, state: ReflectorState): void;
  /** Changes that only a relist found: the watch had missed them. */
  foundByRelist(kind: Kind, count: number): void;
}

type Health = ReturnType<Reflector['health']>;

/** Watches the local cluster's Services, workloads and our slices into the view and the queue. */
export class LocalWatcher {
  readonly #deps: LocalWatcherDeps;
  readonly #reflectors = new Map<Kind, Reflector>();
  readonly #sinks = new Map<Kind, KindSink>();
  readonly #keeper: ViewKeeper;
  readonly #dispatcher: Dispatcher;
  readonly #sweeper: Sweeper;
  readonly #comeback: Comeback;
  readonly #rebuild: Rebuild;
  readonly #newHistory: NewHistory;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #opened = Promise.withResolvers<undefined>();
  #found = 0;
  #stopped = false;

  /** Starts watching. */
  constructor(deps: LocalWatcherDeps) {
    this.#deps = deps;
    this.#keeper = new ViewKeeper({
      ...deps,
      healthyKinds: () => this.#healthyKinds(),
      onMoved: () => this.#newHistory.begin(),
    });
    this.#dispatcher = new Dispatcher({
      ...deps,
      writer: () => this.#keeper.writer,
      onRefused: (namespace) => this.#sweeper.later(namespace),
      onNamespace: (namespace) => this.#keeper.seen(namespace),
    });
    this.#sweeper = createSweeper({
      sweep: (namespace, olderThanMs) => this.#dispatcher.sweep(namespace, olderThanMs),
      namespaces: () => this.#keeper.namespaces(),
      log: deps.log,
    });
    this.#comeback = new Comeback({
      states: () => [...this.#reflectors.values()].map((one) => one.health().state.kind),
      marksLastMs: HEARTBEAT.ttlMs,
      hold: () => this.#dispatcher.closeGate(),
      goOn: () => this.#inBackground('coming back', this.#comeBack()),
      monotonicMs: () => performance.now(),
    });
    this.#rebuild = new Rebuild({
      ...deps,
      ready: () => this.ready,
      relist: (reason) => this.#relistInDoubt(reason),
      keys: () => this.keys(),
      stopped: () => this.#stopped,
    });
    this.#newHistory = this.#prepareNewHistory();
    for (const kind of KINDS) this.#watch(kind);
    this.#heartbeat = setInterval(() => {
      this.#inBackground('heartbeat', this.#beat());
    }, HEARTBEAT.everyMs);
  }

  /** Resolves once all kinds were listed, the view is in sync and what they dirtied is enqueued. */
  get ready(): Promise<void> {
    return this.#opened.promise;
  }

  health(): { readonly inSync: boolean; readonly kinds: ReadonlyMap<Kind, Health> } {
    const kinds = [...this.#reflectors].map(([kind, one]) => [kind, one.health()] as const);
    return { inSync: this.#keeper.inSync, kinds: new Map(kinds) };
  }

  /** Lists everything again and repairs the view; gives the number of differences. */
  async relist(reason: string): Promise<number> {
    this.#found = 0;
    await Promise.all([...this.#reflectors.values()].map((one) => one.relist(reason)));
    return this.#found;
  }

  /** The view may have lost data, and may do so again meanwhile: see `Rebuild`. */
  rebuild(reason: string): Promise<void> {
    return this.#rebuild.run(reason);
  }

  /** All Services of the view. */
  async keys(): Promise<ObjectKey[]> {
    const known = await this.#keeper.known('service');
    return [...known].flatMap(([namespace, names]) => names.map((name) => ({ namespace, name })));
  }

  /**
   * @param unmark true of the last watcher of its view: workers that go on without one read live at
   * once, instead of trusting for ten seconds what nobody feeds any more.
   */
  async stop(unmark = false): Promise<void> {
    this.#stopped = true;
    this.#opened.resolve(undefined);
    clearInterval(this.#heartbeat);
    this.#sweeper.stop();
    this.#comeback.stop();
    this.#newHistory.stop();
    for (const sink of this.#sinks.values()) sink.stop();
    const reflectors = [...this.#reflectors.values()].map((one) => one.stop());
    await Promise.all([...reflectors, this.#dispatcher.stop()]);
    // Marks run out by themselves, too.
    if (unmark) await this.#keeper.unmark().catch(() => undefined);
  }

  #prepareNewHistory(): NewHistory {
    return new NewHistory({
      ...this.#deps,
      hold: () => this.#hold(),
      goOn: () => this.#inBackground('enqueuing what is dirty', this.#open()),
      trustedMs: HEARTBEAT.everyMs + HEARTBEAT.ttlMs,
      keys: () => this.keys(),
    });
  }

  #watch(kind: Kind): void {
    const { client, accepts, idleMs, log, now, random, report } = this.#deps;
    const sink = new KindSink({
      kind,
      accepts,
      now,
      log,
      dispatcher: this.#dispatcher,
      known: () => this.#keeper.known(kind),
      round: () => this.#keeper.round,
      events: this.#pathOf(kind),
      onListed: (list) => this.#onListed(list),
      onState: (which, state) => {
        report.state(which, state);
        if (this.#keeper.inSync) this.#comeback.changed(state.kind);
      },
    });
    this.#sinks.set(kind, sink);
    const ours = kind === 'slice' ? { labelSelector: managedBySelector(this.#deps) } : {};
    const path = PATHS[kind];
    const list = { path, what: resourceOf(path), ...ours, pageSize: PAGE_SIZES[kind] };
    const tapped = kind === 'service' ? this.#deps.tapServices?.(sink) : undefined;
    const options = { client, ...list, sink: tapped ?? sink, log, idleMs, random };
    this.#reflectors.set(
      kind,
      startReflector<ApiObject>({ ...options, unreachableCapMs: UNREACHABLE_CAP_MS }),
    );
  }

  #pathOf(kind: Kind): EventPath {
    if (kind !== 'slice') return new DirectPath(kind, this.#dispatcher);
    const { adopt, log, now } = this.#deps;
    const next = new EchoFilter(kind, this.#dispatcher, () => this.#keeper.writer, log);
    if (adopt.length === 0) return next;
    return new AdoptionPath({ next, adopt, delayMs: ADOPTION_DELAY_MS, now });
  }

  async #onListed(list: CompleteList): Promise<void> {
    const { kind, found } = list;
    this.#found += found;
    if (this.#keeper.inSync) this.#deps.report.foundByRelist(kind, found);
    const state = await this.#keeper.listed(list);
    if (state === 'moved' || state === 'lost') this.#listAgain(state, kind);
    if (state === 'opened') {
      this.#newHistory.opened();
      // Not awaited: with thousands of namespaces the watch of this kind would begin too late.
      this.#inBackground('enqueuing what is dirty', this.#open());
    }
    // Not awaited: no list need wait for it.
    this.#inBackground('forgetting empty namespaces', this.#keeper.leaveEmpty());
  }

  /**
   * Not awaited: a list that found it out must end before the next can begin. Into an empty view everything
   * is news, so the lists dirty every Service.
   */
  #listAgain(why: keyof typeof LIST_AGAIN, kind?: Kind): void {
    const reason = LIST_AGAIN[why];
    this.#deps.log.warn({ kind }, reason);
    this.#inBackground('relist', this.relist(reason));
  }

  /** Until the view is in sync: what a watch showed of another history says nothing about lists of this one. */
  #hold(): void {
    this.#dispatcher.closeGate();
    this.#comeback.stop();
    for (const sink of this.#sinks.values()) sink.forget();
  }

  /** The view has just come in sync: hands on what was dirtied before. */
  async #open(): Promise<void> {
    this.#dispatcher.openGate();
    try {
      const namespaces = await this.#keeper.namespaces();
      await sweepEach(namespaces, (namespace) => this.#dispatcher.sweep(namespace, 0));
    } finally {
      // What failed stays pending, for the sweeper.
      this.#opened.resolve(undefined);
    }
  }

  /** All kinds are watched again, or as many as come back: the view is marked before it is used. */
  async #comeBack(): Promise<void> {
    try {
      await this.#markOn();
    } finally {
      if (!this.#newHistory.holds) await this.#open();
    }
  }

  async #relistInDoubt(reason: string): Promise<void> {
    this.#deps.log.warn({ reason }, 'filling the view anew');
    this.#keeper.doubt();
    await this.relist(reason);
  }

  async #beat(): Promise<void> {
    const lost = await this.#markOn();
    if (lost.length > 0) await this.rebuild(`Redis lost the view of ${lost.length} namespaces`);
  }

  /** Gives the namespaces whose data is gone. */
  async #markOn(): Promise<readonly string[]> {
    const { moved, lost } = await this.#keeper.beat(this.#positions());
    if (moved) this.#listAgain('moved');
    return lost;
  }

  #positions(): ReadonlyMap<Kind, string> {
    return new Map([...this.#sinks].map(([kind, { newest }]) => [kind, newest]));
  }

  #healthyKinds(): Kind[] {
    return KINDS.filter((kind) => this.#reflectors.get(kind)?.health().state.kind === 'watching');
  }

  #inBackground(what: string, work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (this.#stopped) return;
      this.#deps.log.warn({ error: describeError(error) }, `${what} failed`);
    });
  }
}
