import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { ApiObject } from '../../core/api-objects.ts';
import type { Kind } from '../../core/codec.ts';
import { ApiError, type ApiFailure } from '../../core/errors.ts';
import { silentLogger } from '../../core/logger.ts';
import { LABEL_MANAGED_BY } from '../../core/names.ts';
import type { Outcome } from '../../core/outcome.ts';
import { reconcileService } from '../../functions/reconcile-service.ts';
import type { ReconcileDeps, ReconcileOptions } from '../../functions/reconcile-service.ts';
import { createRunReport } from '../../functions/run-report.ts';
import type { RunReport } from '../../functions/service-run.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { createEndpointApi, PATHS, type EndpointApi } from '../../platform/kube/endpoint-api.ts';
import type { EventInput } from '../../platform/kube/events.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { failuresKey, lockKey, viewBase } from '../../platform/redis/view/keys.ts';
import { createServiceView } from '../../platform/redis/view/service-view.ts';
import {
  createViewWriter,
  type Change,
  type ViewWriter,
} from '../../platform/redis/view/view-writer.ts';
import { createMetrics } from '../../platform/telemetry/metrics.ts';
import { upsertOf, vanishedAt } from '../../watcher/change-of.ts';
import { freshNamespace } from './namespaces.ts';
import { deleteInstall, openRedis } from './redis.ts';
import { PLAN_OPTIONS } from './plan-options.ts';
import { fromRun, TEST_MANAGER } from './run.ts';

/** A request that a run makes of the API server. */
export interface ApiCall {
  readonly verb: 'read' | 'list' | 'create' | 'update' | 'delete';
  /** `service/web`, `workloads`, `slices`, `slice/web-ew-1`. */
  readonly object: string;
  /** What a create or an update sends. */
  readonly body?: object;
}

/** The real API server, with a list of what was asked and a way to step in between. */
export interface WatchedApi extends EndpointApi {
  readonly calls: ApiCall[];
  /** `update slice/web-ew-1`, of each call that changes something. */
  writes(): string[];
  reads(): string[];
  forget(): void;
  /** Before a request is sent: may change the world, throw in the server's place, or replace the body. */
  before: (call: ApiCall) => Promise<object | void> | object | void;
  /** After the server did it: may change the world, or throw as a lost answer does. */
  after: (call: ApiCall) => Promise<void> | void;
}

/** `reconcileService` on the real API server and the real Redis, as a worker calls it, one key at a time. */
export interface ReconcileRig {
  /** A namespace of the test's own. */
  ns: string;
  redis: RedisClient;
  prefix: string;
  client: KubeClient;
  api: WatchedApi;
  writer: ViewWriter;
  deps: ReconcileDeps;
  /** Kubernetes Events that were to be written. */
  events: EventInput[];
  /** What the run reported beside its outcome. */
  told: string[];
  /** Added to the monotonic clock of the runs, ms. */
  skew: number;
  /**
   * Does what a watcher does: brings the namespace as it is into the view, and marks it as in sync.
   * Kinds that are left out trail behind, as slow watches do.
   */
  see(kinds?: readonly Kind[]): Promise<void>;
  run(name: string, options?: ReconcileOptions, signal?: AbortSignal): Promise<Outcome>;
  /** Gives the key's lock to somebody else, as after a pause that outlasted it. */
  stealLock(name: string): Promise<void>;
  /** The last step of the key's backoff is over, as before a retry that nobody brought forward. */
  stepPasses(name: string): Promise<void>;
  /** Nobody knows any more that a write got no answer, as after a crash. */
  forgetDoubt(name: string): Promise<void>;
  /** Takes a record out of the view behind everybody's back. */
  punchHole(kind: Kind, name: string): Promise<void>;
  /** The slice's record in the view, if it has one. */
  recorded(slice: string): Promise<string | null>;
}

const IDENTITY = 'rig.1';
const MARK_MS = 60_000;
const KINDS: readonly Kind[] = ['service', 'workload', 'slice'];

/** To be called once at the top of a test file. */
export function reconcileRig(): ReconcileRig {
  const rig = { skew: 0 } as ReconcileRig;
  const keysOf = (): { prefix: string; identity: string } => ({
    prefix: rig.prefix,
    identity: IDENTITY,
  });
  rig.see = (kinds = KINDS) => see(rig, kinds);
  rig.run = (name, options, signal = new AbortController().signal) =>
    reconcileService({ namespace: rig.ns, name }, rig.deps, signal, options);
  rig.stealLock = async (name) => {
    await rig.redis.set(lockKey(rig.prefix, rig.ns, name), 'somebody else', 'PX', MARK_MS);
  };
  rig.stepPasses = async (name) => {
    await rig.redis.hset(failuresKey(rig.prefix, rig.ns), `${name} raised`, 1);
  };
  rig.forgetDoubt = async (name) => {
    await rig.redis.del(`${viewBase(keysOf(), rig.ns)}doubt:${name}`);
  };
  rig.punchHole = async (kind, name) => {
    await rig.redis.hdel(`${viewBase(keysOf(), rig.ns)}${kind}`, name);
  };
  rig.recorded = (slice) => rig.redis.hget(`${viewBase(keysOf(), rig.ns)}slice`, slice);

  beforeAll(async () => {
    const access = await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} });
    rig.client = createKubeClient(access);
    rig.redis = openRedis();
  });
  afterAll(async () => {
    await rig.client.close();
    rig.redis.disconnect();
  });
  beforeEach(async () => {
    rig.ns = await freshNamespace('apply');
    rig.prefix = `t-${randomUUID()}`;
    rig.skew = 0;
    rig.api = watchApi(createEndpointApi(rig.client));
    rig.writer = createViewWriter(rig.redis, keysOf(), randomUUID);
    rig.events = [];
    rig.told = [];
    rig.deps = depsOf(rig);
  });
  afterEach(async () => {
    await deleteInstall(rig.redis, rig.prefix);
  });
  return rig;
}

/** A refusal as the API server words it, for what the real one cannot be brought to say. */
export function refusal(status: number, over: Partial<ApiFailure> = {}): ApiError {
  const failure = { status, reason: '', message: `refused with ${status}`, causes: [], ...over };
  return new ApiError('a write', failure);
}

function depsOf(rig: ReconcileRig): ReconcileDeps {
  return {
    view: createServiceView({ redis: rig.redis, prefix: rig.prefix, identity: () => IDENTITY }),
    api: rig.api,
    plan: PLAN_OPTIONS,
    report: reportOf(rig),
    clock: { now: () => new Date(), monotonicMs: () => performance.now() + rig.skew },
    random: () => 1,
    token: randomUUID,
  };
}

/** The product's own report, so that Events are as users see them; and a line for what it was told. */
function reportOf(rig: ReconcileRig): RunReport {
  const events = {
    emit: (event: EventInput) => void rig.events.push(event),
    flush: () => Promise.resolve(),
  };
  const report = createRunReport({ events, log: silentLogger, metrics: createMetrics() });
  return {
    ...report,
    problem: (key, service, problem) => {
      rig.told.push(problem.kind);
      report.problem(key, service, problem);
    },
    viewMissed: (key, why) => {
      rig.told.push(why);
      report.viewMissed(key, why);
    },
    lockLost: (key) => {
      rig.told.push('lock-lost');
      report.lockLost(key);
    },
  };
}

async function see(rig: ReconcileRig, kinds: readonly Kind[]): Promise<void> {
  for (const kind of kinds) {
    const [group, resource] = splitPath(PATHS[kind]);
    const path = `${group}/namespaces/${rig.ns}/${resource}`;
    const selector =
      kind === 'slice' ? { labelSelector: `${LABEL_MANAGED_BY}=${TEST_MANAGER}` } : {};
    const changes: Change[] = [];
    const names = new Set<string>();
    let version = '';
    for await (const page of rig.client.list<ApiObject>(path, { what: path, ...selector })) {
      version = page.resourceVersion;
      for (const item of page.items) {
        changes.push(upsertOf(kind, item));
        names.add(item.metadata?.name ?? '');
      }
    }
    const known = await rig.writer.names(rig.ns, kind);
    const gone = known.filter((name) => !names.has(name));
    changes.push(...gone.map((name) => vanishedAt(kind, name, version)));
    await rig.writer.apply(rig.ns, changes);
  }
  await rig.writer.heartbeat(rig.ns, await rig.writer.open(rig.ns), MARK_MS, KINDS);
}

/** `/api/v1/services` → [`/api/v1`, `services`] */
function splitPath(path: string): [string, string] {
  const slash = path.lastIndexOf('/');
  return [path.slice(0, slash), path.slice(slash + 1)];
}

function watchApi(real: EndpointApi): WatchedApi {
  const calls: ApiCall[] = [];
  const lines = (verbs: readonly ApiCall['verb'][]): string[] =>
    calls.filter(({ verb }) => verbs.includes(verb)).map(({ verb, object }) => `${verb} ${object}`);
  const pass = async <T>(call: ApiCall, send: (body: object) => Promise<T>): Promise<T> => {
    calls.push(call);
    const body = (await watched.before(call)) ?? call.body ?? {};
    const answer = await send(body);
    await watched.after(call);
    return answer;
  };
  const watched: WatchedApi = {
    calls,
    writes: () => lines(['create', 'update', 'delete']),
    reads: () => lines(['read', 'list']),
    forget: () => void calls.splice(0),
    before: () => undefined,
    after: () => undefined,
    readService: (key, signal) =>
      pass({ verb: 'read', object: `service/${key.name}` }, () => real.readService(key, signal)),
    listWorkloads: (namespace, selector, signal) =>
      pass({ verb: 'list', object: 'workloads' }, () =>
        real.listWorkloads(namespace, selector, signal),
      ),
    listSlices: (key, managers, signal) =>
      pass({ verb: 'list', object: 'slices' }, () => real.listSlices(key, managers, signal)),
    createSlice: (namespace, name, given, signal) =>
      pass({ verb: 'create', object: `slice/${name}`, body: given }, (body) =>
        real.createSlice(namespace, name, body, signal),
      ),
    replaceSlice: (namespace, name, given, signal) =>
      pass({ verb: 'update', object: `slice/${name}`, body: given }, (body) =>
        real.replaceSlice(namespace, name, body, signal),
      ),
    deleteSlice: (namespace, slice, signal) =>
      pass({ verb: 'delete', object: `slice/${slice.name}` }, () =>
        real.deleteSlice(namespace, slice, signal),
      ),
  };
  return watched;
}
