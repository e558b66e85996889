import type { ApiObject } from '../core/api-objects.ts';
import type { Kind } from '../core/codec.ts';
import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { LABEL_MANAGED_BY } from '../core/names.ts';
import type { ObjectKey } from '../core/object-key.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { PATHS } from '../platform/kube/endpoint-api.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';
import type { ViewWriter } from '../platform/redis/view/view-writer.ts';
import { createDispatcher } from './dispatcher.ts';
import { createKindSink, type KindSink } from './kind-sink.ts';
import { startReflector, type Reflector, type ReflectorState } from './reflector.ts';
import { createSweeper } from './sweeper.ts';
import { createViewKeeper, HEARTBEAT, KINDS } from './view-keeper.ts';

/** Slices are judged so much later than they arrive, ms (spec A4). */
const SLICE_DELAY_MS = 100;

export interface LocalWatcherDeps {
  readonly client: KubeClient;
  readonly queue: WorkQueue;
  readonly openView: (identity: string) => ViewWriter;
  /** The identity before any list. */
  readonly identity: string;
  readonly observeList: (kind: Kind, resourceVersion: string) => Promise<string>;
  readonly manager: string;
  readonly accepts: (namespace: string) => boolean;
  /** Longest silence of a watch, ms. */
  readonly idleMs: number;
  readonly log: Logger;
  readonly now: () => number;
  readonly random: () => number;
  readonly report: WatchReport;
}

export interface WatchReport {
  state(kind: Kind, state: ReflectorState): void;
  /** Changes that only a relist found: the watch had missed them. */
  foundByRelist(kind: Kind, count: number): void;
  rebuilt(reason: string): void;
}

type Health = ReturnType<Reflector['health']>;

export interface LocalWatcher {
  /** Resolves once all kinds were listed, the view is in sync and what they dirtied is enqueued. */
  readonly ready: Promise<void>;
  health(): { readonly inSync: boolean; readonly kinds: Record<Kind, Health> };
  /** Lists everything again and repairs the view; gives the number of differences. */
  relist(reason: string): Promise<number>;
  /** The view may have lost data: fills it anew and dirties every Service. */
  rebuild(reason: string): Promise<void>;
  services(): Promise<ObjectKey[]>;
  stop(): Promise<void>;
}

/** Watches the local cluster's Services, workloads and our slices into the view and the queue. */
export function startLocalWatcher(deps: LocalWatcherDeps): LocalWatcher {
  const reflectors = new Map<Kind, Reflector>();
  const sinks: KindSink[] = [];
  let found = 0;
  let stopped = false;
  let rebuilding: Promise<void> | null = null;
  const ready = Promise.withResolvers<undefined>();

  const keeper = createViewKeeper({
    openView: deps.openView,
    identity: deps.identity,
    observeList: deps.observeList,
    healthyKinds: () =>
      KINDS.filter((kind) => reflectors.get(kind)?.health().state.kind === 'watching'),
  });
  const dispatcher = createDispatcher({
    writer: keeper.writer,
    queue: deps.queue,
    log: deps.log,
    random: deps.random,
    now: deps.now,
    onRefused: (namespace) => sweeper.later(namespace),
    onNamespace: keeper.seen,
  });
  const sweeper = createSweeper({
    sweep: dispatcher.sweep,
    namespaces: keeper.namespaces,
    log: deps.log,
  });

  const services = async (): Promise<ObjectKey[]> => {
    const known = await keeper.known('service');
    return [...known].flatMap(([namespace, names]) => names.map((name) => ({ namespace, name })));
  };
  const relist = async (reason: string): Promise<number> => {
    found = 0;
    await Promise.all([...reflectors.values()].map((reflector) => reflector.relist(reason)));
    return found;
  };
  const rebuildNow = async (reason: string): Promise<void> => {
    await ready.promise;
    if (stopped) return;
    deps.log.warn({ reason }, 'filling the view anew');
    deps.report.rebuilt(reason);
    keeper.doubt();
    await relist(reason);
    const at = deps.now();
    await deps.queue.addResync((await services()).map((key) => ({ key, reason, at })));
  };
  const rebuild = (reason: string): Promise<void> => {
    rebuilding ??= rebuildNow(reason).finally(() => {
      rebuilding = null;
    });
    return rebuilding;
  };
  const inBackground = (what: string, work: Promise<unknown>): void => {
    work.catch((error: unknown) => {
      if (!stopped) deps.log.warn({ error: describeError(error) }, `${what} failed`);
    });
  };

  const onListed = async (kind: Kind, version: string, differences: number): Promise<void> => {
    const wasInSync = keeper.inSync();
    found += differences;
    if (wasInSync) deps.report.foundByRelist(kind, differences);
    const state = await keeper.listed(kind, version);
    if (state === 'moved') {
      inBackground('rebuild', rebuild('the history of the API server went back'));
    } else if (state === 'opened') {
      dispatcher.openGate();
      const namespaces = await keeper.namespaces();
      await Promise.all(namespaces.map((namespace) => dispatcher.sweep(namespace, 0)));
      ready.resolve(undefined);
    }
  };

  for (const kind of KINDS) {
    const sink = createKindSink({
      kind,
      dispatcher,
      accepts: deps.accepts,
      known: () => keeper.known(kind),
      delayMs: kind === 'slice' ? SLICE_DELAY_MS : 0,
      now: deps.now,
      onListed,
      onState: deps.report.state,
    });
    sinks.push(sink);
    reflectors.set(kind, startReflectorOf(deps, kind, sink));
  }
  const heartbeat = setInterval(() => {
    const beat = async (): Promise<void> => {
      const lost = await keeper.beat();
      if (lost.length > 0) await rebuild(`Redis lost the view of ${lost.length} namespaces`);
    };
    inBackground('heartbeat', beat());
  }, HEARTBEAT.everyMs);

  return {
    ready: ready.promise,
    health: () => ({ inSync: keeper.inSync(), kinds: healthOf(reflectors) }),
    relist,
    rebuild,
    services,
    stop: async () => {
      stopped = true;
      ready.resolve(undefined);
      clearInterval(heartbeat);
      sweeper.stop();
      for (const sink of sinks) sink.stop();
      dispatcher.stop();
      await Promise.all([...reflectors.values()].map((reflector) => reflector.stop()));
      await dispatcher.idle();
    },
  };
}

const RESOURCES: Record<Kind, string> = {
  service: 'services',
  workload: 'externalworkloads',
  slice: 'endpointslices',
};

function startReflectorOf(deps: LocalWatcherDeps, kind: Kind, sink: KindSink): Reflector {
  return startReflector<ApiObject>({
    client: deps.client,
    path: PATHS[kind],
    what: RESOURCES[kind],
    ...(kind === 'slice' ? { labelSelector: `${LABEL_MANAGED_BY}=${deps.manager}` } : {}),
    sink,
    log: deps.log,
    idleMs: deps.idleMs,
    random: deps.random,
  });
}

function healthOf(reflectors: ReadonlyMap<Kind, Reflector>): Record<Kind, Health> {
  const of = (kind: Kind): Health => {
    const reflector = reflectors.get(kind);
    if (!reflector) throw new TypeError(`no reflector of ${kind}`);
    return reflector.health();
  };
  return { service: of('service'), workload: of('workload'), slice: of('slice') };
}
