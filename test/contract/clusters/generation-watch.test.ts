import { expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/logger.ts';
import { createKubeClient, type KubeClient } from '../../../platform/kube/client.ts';
import { staticCredentials } from '../../../platform/kube/credentials.ts';
import { createClusterViewWriter } from '../../../platform/redis/clusters/cluster-view-writer.ts';
import { GenerationWatch } from '../../../watcher/clusters/generation-watch.ts';
import { DOUBLE_TOKEN } from '../../support/api-double.ts';
import { linkedRig } from '../../support/linked-rig.ts';

const rig = linkedRig();

test('a watch that is stopped at the moment it gets its client closes it, and lists nothing', async () => {
  const east = await rig.cluster();
  const asked = Promise.withResolvers<void>();
  const given = Promise.withResolvers<KubeClient>();
  const { redis, prefix } = rig;
  const view = { prefix, cluster: 'east', generation: 1, maxObjects: 100 };
  const watch = new GenerationWatch({
    writer: createClusterViewWriter(redis, view),
    connect: () => {
      asked.resolve();
      return given.promise;
    },
    onSynced: () => undefined,
    onFault: () => undefined,
    onChange: () => undefined,
    maxObjects: 100,
    allowFqdn: false,
    idleMs: 75_000,
    resyncMs: 600_000,
    log: silentLogger,
    random: Math.random,
  });
  await asked.promise;
  const credentials = staticCredentials({ authorization: `Bearer ${DOUBLE_TOKEN}` });
  const client = createKubeClient({ server: east.url, insecure: false, credentials });
  const closed = Promise.withResolvers<void>();
  const close = async (): Promise<void> => {
    await client.close();
    closed.resolve();
  };
  // The watch has it first, and what follows comes before its next turn.
  const stopped = given.promise.then(() => watch.stop());
  given.resolve({ ...client, close });
  await Promise.all([closed.promise, stopped]);
  expect(watch.counts()).toEqual([]);
  expect([...east.requests]).toEqual([]);
});
