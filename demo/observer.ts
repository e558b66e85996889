import type { ApiEndpointSlice, ApiObject } from '../core/api-objects.ts';
import { silentLogger } from '../core/logger.ts';
import { LABEL_SERVICE_NAME } from '../core/names.ts';
import { createKubeClient, type KubeClient } from '../platform/kube/client.ts';
import { loadKubeConfig } from '../platform/kube/kubeconfig.ts';
import { startReflector, type ReflectorSink } from '../watcher/reflector.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { LIMIT_MS } from './demo-error.ts';
import { within } from './within.ts';

/** Looks at one Service's slices and its namespace's workloads as any client would: by two watches. */
export interface Observer {
  /** `192.0.2.0 ready` or `192.0.2.0 not ready`, one for each endpoint, sorted. */
  endpoints(): readonly string[];
  /**
   * Waits until the endpoints are as wanted.
   *
   * @returns milliseconds from the last change of a workload to the change of a slice that made them
   *   so, both as they arrived here.
   * @throws {DemoError} with what they are instead, when they are not in time.
   */
  until(wanted: string, holds: (endpoints: readonly string[]) => boolean): Promise<number>;
  close(): Promise<void>;
}

/** The other watch may bring its event a little later; ms. */
const OTHER_WATCH_MS = 50;

/** Starts both watches; they bear with a kind that the server does not know yet. */
export async function startObserver(
  kubeconfig: string,
  namespace: string,
  service: string,
): Promise<Observer> {
  const client = createKubeClient(await loadKubeConfig({ path: kubeconfig, env: {} }));
  const slices = new Map<string, ApiEndpointSlice>();
  const seen: Seen = { workloadAt: performance.now(), sliceAt: 0, waiting: new Set() };
  const path = (group: string, kind: string): string =>
    `/apis/${group}/namespaces/${namespace}/${kind}`;
  const watches = [
    startReflector<ApiEndpointSlice>({
      ...watchOf(client, path('discovery.k8s.io/v1', 'endpointslices')),
      labelSelector: `${LABEL_SERVICE_NAME}=${service}`,
      sink: sinkInto(slices, () => {
        seen.sliceAt = performance.now();
        for (const check of seen.waiting) check();
      }),
    }),
    startReflector<ApiObject>({
      ...watchOf(client, path('workload.linkerd.io/v1beta1', 'externalworkloads')),
      kindPoll: { baseMs: 100, capMs: 200 },
      sink: sinkInto(new Map(), () => (seen.workloadAt = performance.now())),
    }),
  ];
  const endpoints = (): readonly string[] => [...slices.values()].flatMap(describeSlice).sort();
  return {
    endpoints,
    until: (wanted, holds) => untilThey(service, wanted, { seen, endpoints, holds }),
    close: async () => {
      await Promise.all(watches.map((watch) => watch.stop()));
      await client.close();
    },
  };
}

/** When events last arrived (`performance.now()`), and who wants to know. */
interface Seen {
  workloadAt: number;
  sliceAt: number;
  readonly waiting: Set<() => void>;
}

async function untilThey(
  service: string,
  wanted: string,
  look: {
    readonly seen: Seen;
    readonly endpoints: () => readonly string[];
    readonly holds: (endpoints: readonly string[]) => boolean;
  },
): Promise<number> {
  const { seen, endpoints, holds } = look;
  const came = Promise.withResolvers<number>();
  const check = (): void => {
    if (holds(endpoints())) came.resolve(seen.sliceAt);
  };
  seen.waiting.add(check);
  check();
  const otherwise = (): string =>
    `the endpoints of ${service} are not ${wanted}; they are: ${endpoints().join(', ') || 'none'}`;
  const at = await within(came.promise, LIMIT_MS, otherwise).finally(() => {
    seen.waiting.delete(check);
  });
  await delay(OTHER_WATCH_MS);
  return Math.max(0, Math.round(at - seen.workloadAt));
}

function watchOf(client: KubeClient, path: string) {
  return { client, path, what: path, log: silentLogger };
}

/** Keeps the objects of a watch by name, and tells of each change. */
function sinkInto<T extends ApiObject>(
  objects: Map<string, T>,
  changed: () => void,
): ReflectorSink<T> {
  let listed = new Map<string, T>();
  const nameOf = (object: T): string => object.metadata?.name ?? '';
  return {
    onPage: (items) => {
      for (const item of items) listed.set(nameOf(item), item);
      return Promise.resolve();
    },
    onListed: () => {
      objects.clear();
      for (const [name, item] of listed) objects.set(name, item);
      listed = new Map();
      changed();
      return Promise.resolve();
    },
    onListAbandoned: () => listed.clear(),
    onEvent: (type, object) => {
      if (type === 'DELETED') objects.delete(nameOf(object));
      else objects.set(nameOf(object), object);
      changed();
    },
    onBatchEnd: () => undefined,
    onState: () => undefined,
  };
}

function describeSlice({ endpoints = [] }: ApiEndpointSlice): string[] {
  return endpoints.map(
    ({ addresses = [], conditions }) =>
      `${addresses.join('+')} ${conditions?.ready === true ? 'ready' : 'not ready'}`,
  );
}
