import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createKubeClient, type KubeClient, type WatchEvent } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { currentIdentity } from '../../platform/redis/view/identity.ts';
import { epochKey } from '../../platform/redis/view/keys.ts';
import { createServiceView } from '../../platform/redis/view/service-view.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import type { LocalWatcher } from '../../watcher/local-watcher.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, setReady } from '../support/objects.ts';
import { startWatcher } from '../support/reconcile-rig-watcher.ts';
import { fromRun } from '../support/run.ts';

const PREFIX = 'doubt';
const CLUSTER = 'cluster';

let ns: string;
let server: PrivateRedis;
let redis: Redis;
let client: KubeClient;
let watcher: LocalWatcher | undefined;
/** Keys that were enqueued. */
let added: string[];
/** Before the list of a kind is told to be complete; given its path. */
let beforeListEnds: (path: string) => Promise<void>;
/** The version that a list is told to be of. */
let listVersion: (path: string, real: string) => string;
/** Added to the versions of the events of workloads: a history that a restored etcd knows nothing of. */
let ahead: bigint;

beforeEach(async () => {
  ns = await freshNamespace('doubt');
  server = await startPrivateRedis();
  redis = new Redis(server.url);
  client = createKubeClient(await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} }));
  added = [];
  beforeListEnds = () => Promise.resolve();
  listVersion = (_path, real) => real;
  ahead = 0n;
});
afterEach(async () => {
  await watcher?.stop();
  watcher = undefined;
  await client.close();
  redis.disconnect();
  await server.stop();
});

async function start(): Promise<LocalWatcher> {
  const gated: KubeClient = {
    ...client,
    list: async function* <T>(path: string, options: Parameters<KubeClient['list']>[1]) {
      for await (const page of client.list<T>(path, options)) {
        yield { ...page, resourceVersion: listVersion(path, page.resourceVersion) };
      }
      await beforeListEnds(path);
    },
    watch: async function* (path, options) {
      for await (const batch of client.watch(path, options)) {
        yield path.endsWith('externalworkloads') ? batch.map(fromTheFuture) : batch;
      }
    },
  };
  const onAdd = (key: string): void => void added.push(key);
  watcher = await startWatcher({
    client: gated,
    redis,
    prefix: PREFIX,
    clusterUid: CLUSTER,
    namespace: ns,
    onAdd,
  });
  return watcher;
}

function fromTheFuture(event: WatchEvent): WatchEvent {
  const { resourceVersion = '0', ...metadata } = event.object.metadata ?? {};
  const version = String(BigInt(resourceVersion) + ahead);
  return {
    ...event,
    object: { ...event.object, metadata: { ...metadata, resourceVersion: version } },
  };
}

/**
 * The view is whole: either it says that it is not in sync (functions read live then), or it knows the
 * Service; and a new workload dirties that.
 */
async function expectServed(service: string): Promise<void> {
  await eventually(
    async () => {
      const identity = await currentIdentity(redis, PREFIX, CLUSTER);
      const view = createServiceView({ redis, prefix: PREFIX, identity: () => identity });
      const key = { namespace: ns, name: service };
      const found = await view.acquire(key, randomUUID(), 1, true);
      const world = found.held ? found.world : null;
      expect({
        inSync: watcher?.health().inSync,
        service: world?.service?.name,
        workloads: world?.workloads.map(({ name }) => name),
      }).toEqual({ inSync: true, service, workloads: ['vm'] });
    },
    { timeoutMs: 15_000 },
  );
  added = [];
  await createWorkload(ns, 'late', service);
  await eventually(() => expect(added).toContain(`${ns}/${service}`), { timeoutMs: 15_000 });
}

async function webWithVm(): Promise<void> {
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
}

/** What the view of now has for a workload of `web`. */
async function readiness(workload: string): Promise<boolean | null | undefined> {
  const identity = await currentIdentity(redis, PREFIX, CLUSTER);
  const view = createServiceView({ redis, prefix: PREFIX, identity: () => identity });
  const found = await view.acquire({ namespace: ns, name: 'web' }, randomUUID(), 1, true);
  const world = found.held ? found.world : null;
  return world?.workloads.find(({ name }) => name === workload)?.ready;
}

/** Does something once, when the list of workloads is about to be complete. */
function onceWorkloadsAreListed(act: () => Promise<unknown>): void {
  let done = false;
  beforeListEnds = async (path) => {
    if (done || !path.endsWith('externalworkloads')) return;
    // The other kinds are complete by now.
    await eventually(async () => {
      const identity = await currentIdentity(redis, PREFIX, CLUSTER);
      const writer = createViewWriter(redis, { prefix: PREFIX, identity }, randomUUID);
      expect(await writer.names(ns, 'service')).toEqual(['web']);
    });
    done = true;
    await act();
  };
}

describe('Redis loses its data (view 4)', () => {
  test('while the view is in sync: it is filled anew', async () => {
    await webWithVm();
    const { ready } = await start();
    await ready;
    await redis.flushall();
    await expectServed('web');
  });

  test('while the view is being filled: it is not taken for whole', async () => {
    await webWithVm();
    onceWorkloadsAreListed(() => redis.flushall());
    const { ready } = await start();
    await ready;
    await expectServed('web');
  });

  test('again while the view is being filled anew: it is not taken for whole', async () => {
    await webWithVm();
    const running = await start();
    await running.ready;
    await redis.flushall();
    onceWorkloadsAreListed(async () => {
      await redis.flushall();
      // As the connection tells it.
      void running.rebuild('the connection to Redis was lost').catch(() => undefined);
    });
    await running.rebuild('the connection to Redis was lost');
    await expectServed('web');
  });
});

describe('the history of the API server went back: etcd was restored (view 3)', () => {
  const FUTURE = '999999999999';

  test.each(['service', 'workload', 'slice'])(
    'before the watcher started, as the list of %s shows: it comes in sync in the new epoch',
    async (kind) => {
      await webWithVm();
      await redis.hset(epochKey(PREFIX, CLUSTER), { epoch: '1', [`rv:${kind}`]: FUTURE });
      await start();
      await expectServed('web');
      expect(await currentIdentity(redis, PREFIX, CLUSTER)).toBe(`${CLUSTER}.2`);
    },
  );

  test('while the watcher runs, as its next list shows: it comes in sync in the new epoch', async () => {
    await webWithVm();
    listVersion = (path, real) => (path.endsWith('services') ? FUTURE : real);
    const running = await start();
    await running.ready;
    listVersion = (_path, real) => real;
    await running.relist('as after a 410');
    await expectServed('web');
    expect(await currentIdentity(redis, PREFIX, CLUSTER)).toBe(`${CLUSTER}.2`);
  });

  test('to a point between the last list and the last event: what is lost is not kept for newer', async () => {
    await webWithVm();
    const running = await start();
    await running.ready;
    ahead = 10n ** 9n;
    await setReady(ns, 'vm', false);
    await eventually(async () => expect(await readiness('vm')).toBe(false));
    // That change is not in the backup; a later one is, under an older version.
    ahead = 0n;
    await setReady(ns, 'vm', true);
    await running.relist('as after a watch from an unknown version');
    await eventually(async () => expect(await readiness('vm')).toBe(true), { timeoutMs: 15_000 });
  });

  test('and later Redis loses its data, the epoch included: it comes in sync again', async () => {
    await webWithVm();
    await redis.hset(epochKey(PREFIX, CLUSTER), { epoch: '2' });
    const running = await start();
    await running.ready;
    await redis.flushall();
    await expectServed('web');
  });
});
