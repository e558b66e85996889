import { randomUUID } from 'node:crypto';
import { silentLogger } from '../../core/logger.ts';
import { formatKey } from '../../core/object-key.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import type { WorkQueue } from '../../platform/redis/queue/work-queue.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { createIdentityStore } from '../../platform/redis/view/identity.ts';
import { createViewWriter } from '../../platform/redis/view/view-writer.ts';
import { LocalWatcher } from '../../watcher/local-watcher.ts';
import { TEST_MANAGER } from './run.ts';
import { toldQueue } from './told-queue.ts';

export interface WatcherRigOptions {
  readonly client: KubeClient;
  readonly redis: RedisClient;
  readonly prefix: string;
  /** UID of the cluster, as the view's identity has it. */
  readonly clusterUid: string;
  /** The one namespace that is served, or several. */
  readonly namespace: string | readonly string[];
  /** Told of the keys, `ns/name`, that the watcher enqueues, before they are. */
  readonly onAdd: (key: string) => Promise<void> | void;
  /** Where the keys go; default nowhere. */
  readonly queue?: WorkQueue;
}

/** The watcher of a process, in this one: real API server, real view, and a queue that tells the test. */
export async function startWatcher(options: WatcherRigOptions): Promise<LocalWatcher> {
  const { client, redis, prefix, clusterUid, namespace } = options;
  const identities = createIdentityStore(redis, prefix, clusterUid);
  return new LocalWatcher({
    client,
    identities,
    history: await identities.history(),
    queue: toldQueue(({ key }) => options.onAdd(formatKey(key)), options.queue),
    openView: (identity) => createViewWriter(redis, { prefix, identity }, randomUUID),
    manager: TEST_MANAGER,
    adopt: [],
    accepts: (one) => [namespace].flat().includes(one),
    idleMs: 75_000,
    log: silentLogger,
    now: Date.now,
    random: Math.random,
    report: {
      state: () => undefined,
      foundByRelist: () => undefined,
    },
  });
}
