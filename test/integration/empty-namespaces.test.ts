import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { namespacesKey } from '../../platform/redis/view/keys.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, remove, servicePath } from '../support/objects.ts';
import { startWatcher } from '../support/reconcile-rig-watcher.ts';
import { deleteInstall, keysOf, openRedis } from '../support/redis.ts';
import { fromRun } from '../support/run.ts';

const IDENTITY = 'rig.1';

let redis: RedisClient;
let client: KubeClient;
let prefix: string;
beforeEach(async () => {
  prefix = `t-${randomUUID()}`;
  redis = openRedis();
  client = createKubeClient(await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} }));
});
afterEach(async () => {
  await client.close();
  await deleteInstall(redis, prefix);
  redis.disconnect();
});

async function inTheView(): Promise<string[]> {
  return (await redis.smembers(namespacesKey({ prefix, identity: IDENTITY }))).toSorted();
}

test('a namespace whose objects are gone is forgotten by the next lists, and served when it is used again', async () => {
  const [kept, ...previews] = [
    await freshNamespace('kept'),
    await freshNamespace('preview'),
    await freshNamespace('preview'),
  ];
  await createService(kept, 'web');
  const added: string[] = [];
  const watcher = await startWatcher({
    client,
    redis,
    prefix,
    clusterUid: 'rig',
    namespace: [kept, ...previews],
    onAdd: (key) => void added.push(key),
  });
  try {
    await watcher.ready;
    for (const namespace of previews) {
      await createService(namespace, 'web');
      await eventually(() => expect(added).toContain(`${namespace}/web`));
      added.length = 0;
      await remove(servicePath(namespace, 'web'));
      await eventually(() => expect(added).toContain(`${namespace}/web`));
    }
    expect(await inTheView()).toEqual([kept, ...previews].toSorted());
    await eventually(async () => {
      await watcher.relist('resync');
      expect(await inTheView()).toEqual([kept]);
    });
    expect(await keysOf(redis, `{${prefix}:preview*born`)).toEqual([]);

    const [again] = previews;
    added.length = 0;
    await createService(again, 'web');
    await eventually(() => expect(added).toContain(`${again}/web`));
    expect(await inTheView()).toEqual([kept, again].toSorted());
  } finally {
    await watcher.stop();
  }
});
