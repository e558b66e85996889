import { afterEach, describe, expect, it } from '@jest/globals';
import { createClusterViewWriter } from '../../../platform/redis/clusters/cluster-view-writer.ts';
import { eventually } from '../../support/eventually.ts';
import { linkedRig, watchesBecome, webService, webSlice } from '../../support/linked-rig.ts';
import { silence, type Behaviour } from '../../support/misbehaving-api.ts';
import { deleteKeys } from '../../support/redis.ts';

const rig = linkedRig();

let timer: NodeJS.Timeout | undefined;
afterEach(() => clearInterval(timer));

/** Watches are accepted and then say nothing; lists are proper. */
const deafWatches: Behaviour = (request, response, proceed) => {
  if (request.url?.includes('watch=true') === true) silence(request, response, proceed);
  else proceed();
};

describe('what the watch of a cluster missed', () => {
  it('is found by the next list, and counted (reports 71, 79)', async () => {
    const east = await rig.cluster();
    east.misbehave(deafWatches);
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    const watcher = rig.watcher({ resyncMs: 1_500 });
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    await rig.watchBecomes('east', { healthy: true });
    east.put('endpointslices', webSlice('web-2', ['10.1.0.2']));
    east.remove('endpointslices', 'shop', 'web-1');
    await rig.becomes('east', ['10.1.0.2']);
    const [[, counts] = ['', []]] = watcher.counts();
    expect(counts.find(({ kind }) => kind === 'slice')?.changes).toBe(2);
    expect(counts.find(({ kind }) => kind === 'service')?.changes).toBe(0);
  });

  it('is found again and again where the cluster lacks ExternalWorkloads', async () => {
    const east = await rig.cluster();
    east.unserved.add('externalworkloads');
    east.misbehave(deafWatches);
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    rig.watcher({ resyncMs: 500 });
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    await rig.watchBecomes('east', { healthy: true });
    for (const ip of ['10.1.0.2', '10.1.0.3']) {
      east.put('endpointslices', webSlice('web-1', [ip]));
      await rig.becomes('east', [ip]);
    }
  });

  it('is repaired after every cut, with one set of connections (report 79)', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-0', ['10.1.0.1']));
    rig.watcher();
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    for (let times = 1; times <= 10; times++) {
      east.cut();
      east.remove('endpointslices', 'shop', `web-${times - 1}`);
      east.put('endpointslices', webSlice(`web-${times}`, [`10.1.0.${times + 1}`]));
      await rig.becomes('east', [`10.1.0.${times + 1}`]);
    }
    await watchesBecome(east, 3);
  });

  it('is repaired where the history was forgotten meanwhile (report 87)', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    rig.watcher();
    const generation = await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    await watchesBecome(east, 3);
    east.cut();
    east.remove('endpointslices', 'shop', 'web-1');
    east.put('endpointslices', webSlice('web-2', ['10.1.0.2']));
    east.store.compact();
    const after = await rig.becomes('east', ['10.1.0.2']);
    expect(after.generation).toBe(generation);
  });
});

describe('an API server whose history went back', () => {
  it('is listed into a view of its own, and versions never mix', async () => {
    const east = await rig.cluster();
    east.store.version = 5_000;
    for (const ip of [1, 2, 3]) east.put('endpointslices', webSlice(`web-${ip}`, [`10.1.0.${ip}`]));
    rig.watcher({ resyncMs: 1_500 });
    const generation = await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1', '10.1.0.2', '10.1.0.3']);
    east.store.goBackTo(1_000);
    east.remove('endpointslices', 'shop', 'web-3');
    east.put('endpointslices', webSlice('web-1', ['10.1.0.9']));
    const after = await rig.becomes('east', ['10.1.0.2', '10.1.0.9']);
    expect(after.generation).toBeGreaterThan(generation);
    await rig.watchBecomes('east', { serving: after.generation, healthy: true });
    east.put('endpointslices', webSlice('web-2', ['10.1.0.8']));
    await rig.becomes('east', ['10.1.0.8', '10.1.0.9']);
    await watchesBecome(east, 3);
  });
});

describe('a cluster gone wild', () => {
  it('is filled up to the limit and no further, and the others work on (report 82)', async () => {
    const wild = await rig.cluster();
    for (let at = 0; at < 600; at++) wild.put('services', webService(`s-${at}`));
    const east = await rig.cluster();
    rig.watcher({
      maxObjects: 500,
      openView: (cluster, generation) =>
        createClusterViewWriter(rig.redis, {
          prefix: rig.prefix,
          cluster,
          generation,
          maxObjects: 500,
        }),
    });
    await rig.link('wild', wild);
    await rig.link('east', east);
    const reason = expect.stringMatching(/more than 500 objects.*--clusters-max-objects/);
    await rig.watchBecomes('wild', { serving: 0, healthy: false, reason: reason as never });
    await eventually(() => expect(wild.openSockets).toBe(0));
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    await rig.becomes('east', ['10.1.0.1']);
  });

  it('that was in sync keeps the answers that it gave, marked as stale', async () => {
    const wild = await rig.cluster();
    wild.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    rig.watcher({
      openView: (cluster, generation) =>
        createClusterViewWriter(rig.redis, { ...rig, cluster, generation, maxObjects: 50 }),
    });
    await rig.link('wild', wild);
    await rig.becomes('wild', ['10.1.0.1']);
    for (let at = 0; at < 100; at++) wild.put('services', webService(`s-${at}`));
    await rig.watchBecomes('wild', {
      healthy: false,
      reason: expect.stringMatching('more') as never,
    });
    expect((await rig.read('wild')).ips).toEqual(['10.1.0.1']);
  });

  it('that churns does not keep the changes of another cluster waiting (report 82)', async () => {
    const wild = await rig.cluster();
    const east = await rig.cluster();
    rig.watcher();
    await rig.link('wild', wild);
    await rig.link('east', east);
    await Promise.all([watchesBecome(wild, 3), watchesBecome(east, 3)]);
    let churn = 0;
    timer = setInterval(() => {
      for (let at = 0; at < 50; at++) {
        wild.put('endpointslices', webSlice(`w-${at}`, [`10.2.${(churn += 1) % 250}.1`]));
      }
    }, 10);
    for (const ip of ['10.1.0.1', '10.1.0.2', '10.1.0.3']) {
      east.put('endpointslices', webSlice('web-1', [ip]));
      await rig.becomes('east', [ip]);
    }
    clearInterval(timer);
    await rig.becomes('wild', (await wildIps(wild)).toSorted());
  });
});

/** What the wild cluster's slices hold in the end. */
function wildIps(wild: Awaited<ReturnType<typeof rig.cluster>>): Promise<string[]> {
  const page = wild.store.list('endpointslices', Infinity, undefined, undefined);
  const items = (page?.items ?? []).map(
    (item) => JSON.parse(item) as { endpoints: { addresses: string[] }[] },
  );
  return Promise.resolve(
    items.flatMap(({ endpoints }) => endpoints.flatMap((one) => one.addresses)),
  );
}

describe('a Redis that lost everything', () => {
  it('is filled again once the Secret was decided about again', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    rig.watcher();
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    await deleteKeys(rig.redis, await rig.keys());
    await eventually(async () => expect((await rig.read('east')).generation).toBe(0));
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
  });

  it('or the view alone, is filled again by itself', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    rig.watcher();
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    const views = (await rig.keys()).filter((key) => key.includes(':cluster:east'));
    await deleteKeys(rig.redis, views);
    await rig.becomes('east', ['10.1.0.1']);
    await watchesBecome(east, 3);
  });
});
