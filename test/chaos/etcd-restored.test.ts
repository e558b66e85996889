import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ApiObject } from '../../core/api-objects.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { currentIdentity } from '../../platform/redis/view/identity.ts';
import { viewBase } from '../../platform/redis/view/keys.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import { upsertOf } from '../../watcher/change-of.ts';
import type { LocalWatcher } from '../../watcher/local-watcher.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { startWorker, type InProcessWorker } from '../support/in-process-worker.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  setReady,
  workloadPath,
} from '../support/objects.ts';
import { startWatcher } from '../support/reconcile-rig-watcher.ts';
import { restorable, type RestorableApi } from '../support/restorable-api.ts';
import { fromRun } from '../support/run.ts';

const PREFIX = 'restored';
const CLUSTER = 'cluster';
const FORMER = `${CLUSTER}.1`;
const LATER = `${CLUSTER}.2`;
const KINDS = ['service', 'workload', 'slice'] as const;

let ns: string;
let server: PrivateRedis;
let redis: Redis;
let client: KubeClient;
let api: RestorableApi;
let worker: InProcessWorker;
let watchers: LocalWatcher[];
/** Before a key is enqueued. */
let beforeAdd: () => Promise<void>;

beforeEach(async () => {
  ns = await freshNamespace('restored');
  server = await startPrivateRedis();
  redis = new Redis(server.url);
  client = createKubeClient(await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} }));
  api = restorable(client);
  beforeAdd = () => Promise.resolve();
  watchers = [];
  worker = await startWorker({
    client,
    redis,
    redisUrl: server.url,
    prefix: PREFIX,
    clusterUid: CLUSTER,
  });
});
afterEach(async () => {
  for (const watcher of watchers) await watcher.stop();
  await worker.stop();
  await client.close();
  redis.disconnect();
  await server.stop();
});

async function start(): Promise<LocalWatcher> {
  const watcher = await startWatcher({
    client: api.client,
    redis,
    prefix: PREFIX,
    clusterUid: CLUSTER,
    namespace: ns,
    onAdd: () => beforeAdd(),
    queue: worker.queue,
  });
  watchers.push(watcher);
  await watcher.ready;
  return watcher;
}

/** A watcher of a Service whose workload is ready, and is in its slice. */
async function startServing(): Promise<LocalWatcher> {
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
  const watcher = await start();
  await expectEndpoint('ready');
  return watcher;
}

async function expectEndpoint(state: 'ready' | 'not-ready', timeoutMs = 30_000): Promise<void> {
  const expected = [`192.0.2.10 8080 ${state}`];
  await eventually(async () => expect(await endpointsOf(ns, 'web')).toEqual(expected), {
    timeoutMs,
  });
}

const markKeys = (identity: string): string[] =>
  KINDS.map((kind) => `${viewBase({ prefix: PREFIX, identity }, ns)}m:${kind}`);
const marks = (identity: string): Promise<number> => redis.exists(...markKeys(identity));
const identity = (): Promise<string> => currentIdentity(redis, PREFIX, CLUSTER);

describe('etcd was restored from a backup: its versions went back', () => {
  test('what changed before a list showed it is in the slices', async () => {
    const watcher = await startServing();
    api.restore();
    await setReady(ns, 'vm', false);
    await watcher.relist('as after two silent watches');
    await expectEndpoint('not-ready');
    expect(await identity()).toBe(LATER);
  });

  test('no key is enqueued while the former view can be trusted, or the new one cannot', async () => {
    const watcher = await startServing();
    api.restore();
    await setReady(ns, 'vm', false);
    const seen: object[] = [];
    beforeAdd = async () => {
      seen.push({ former: await marks(FORMER), later: await marks(LATER) });
    };
    await watcher.relist('as after two silent watches');
    await eventually(() => expect(seen).not.toEqual([]));
    for (const one of seen) expect(one).toEqual({ former: 0, later: KINDS.length });
  });

  test('a former view that somebody goes on marking for a while does not decide in the end', async () => {
    const watcher = await startServing();
    api.restore();
    await setReady(ns, 'vm', false);
    let marked = false;
    beforeAdd = async () => {
      if (marked) return;
      marked = true;
      // As a watcher does that has not heard of it.
      for (const key of markKeys(FORMER)) await redis.set(key, '1', 'PX', 10_000);
    };
    await watcher.relist('as after two silent watches');
    await expectEndpoint('not-ready', 50_000);
    expect(marked).toBe(true);
  });

  test('a second watcher, which has not listed, leaves the former view as well', async () => {
    const first = await startServing();
    await start();
    api.restore();
    await first.relist('as after two silent watches');
    await eventually(async () => expect(await marks(LATER)).toBe(KINDS.length));
    await first.stop();
    await redis.del(...markKeys(LATER));
    // Only the second one can mark it now.
    await eventually(async () => expect(await marks(LATER)).toBe(KINDS.length));
    expect(await marks(FORMER)).toBe(0);
  });
});

describe('etcd was restored and its revision raised: lists are newer, and show older objects', () => {
  test('a new epoch begins, and the slices follow the restored state', async () => {
    const watcher = await startServing();
    api.restore('bumped');
    await setReady(ns, 'vm', false);
    await watcher.relist('as after a compacted watch');
    await expectEndpoint('not-ready');
    expect(await identity()).toBe(LATER);
  });

  test('none begins where another watcher is merely ahead of the list', async () => {
    const watcher = await startServing();
    const writer = createViewWriter(redis, { prefix: PREFIX, identity: FORMER }, randomUUID);
    const vm = (await apiOk('GET', workloadPath(ns, 'vm'))) as ApiObject;
    const newer = { ...vm, metadata: { ...vm.metadata, resourceVersion: '9999999999' } };
    await writer.apply(ns, [upsertOf('workload', newer)]);
    await watcher.relist('as at a resync');
    expect([await identity(), watcher.health().inSync]).toEqual([FORMER, true]);
  });
});
