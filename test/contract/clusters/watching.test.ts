import { afterEach, describe, expect, it } from '@jest/globals';
import type { ApiObject } from '../../../core/api-objects.ts';
import { describeCluster, type ClusterDecision } from '../../../core/cluster.ts';
import { LOCAL_CLUSTER } from '../../../core/names.ts';
import { createKubeClient, type KubeClient } from '../../../platform/kube/client.ts';
import { staticCredentials } from '../../../platform/kube/credentials.ts';
import { createClusterViewReader } from '../../../platform/redis/clusters/cluster-view-reader.ts';
import { ownersOf } from '../../../watcher/clusters/assignment.ts';
import { DOUBLE_TOKEN } from '../../support/api-double.ts';
import { eventually } from '../../support/eventually.ts';
import { linkedRig, watchesBecome, webService, webSlice } from '../../support/linked-rig.ts';
import { answer, blackHole, held, html, refuse } from '../../support/misbehaving-api.ts';

const rig = linkedRig();

let timer: NodeJS.Timeout | undefined;
afterEach(() => clearInterval(timer));

const IDENTITY = { identity: 'spiffe://root.east/vm', serverName: 'vm.east' };
const workload = {
  metadata: { namespace: 'shop', name: 'vm' },
  spec: { meshTLS: IDENTITY },
} as ApiObject;

/** A slice of `shop/web` whose one endpoint is that workload. */
function workloadSlice(): ApiObject {
  const targetRef = { kind: 'ExternalWorkload', namespace: 'shop', name: 'vm' };
  const endpoints = [{ addresses: ['10.1.0.1'], targetRef }];
  return { ...webSlice('web-1', []), endpoints } as ApiObject;
}

/** What look-ups of `shop/web` read of the workload. */
async function readWorkload(): Promise<{ generation: number; identity: unknown }> {
  const reader = createClusterViewReader(rig.redis, rig.prefix);
  const { generation, workloads } = await reader.readService('east', 'shop/web');
  return { generation, identity: workloads.get('shop/vm') };
}

describe('a linked cluster', () => {
  it('comes into the view, and what changes there follows', async () => {
    const east = await rig.cluster();
    east.put('services', webService());
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    rig.watcher();
    const generation = await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    await rig.watchBecomes('east', { serving: generation, healthy: true, reason: '', objects: 2 });
    east.put('endpointslices', webSlice('web-2', ['10.1.0.2']));
    await rig.becomes('east', ['10.1.0.1', '10.1.0.2']);
    east.remove('endpointslices', 'shop', 'web-1');
    await rig.becomes('east', ['10.1.0.2']);
  });

  it('keeps the mTLS identity of its ExternalWorkloads', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', workloadSlice());
    east.put('externalworkloads', workload);
    rig.watcher();
    await rig.link('east', east);
    await eventually(async () => expect((await readWorkload()).identity).toMatchObject(IDENTITY));
  });

  it('drops a slice whose label goes, and moves one whose label changes', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    east.put('endpointslices', webSlice('web-2', ['10.1.0.2']));
    rig.watcher();
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1', '10.1.0.2']);
    const { metadata, ...rest } = webSlice('web-1', ['10.1.0.1']);
    east.put('endpointslices', { ...rest, metadata: { ...metadata, labels: {} } });
    await rig.becomes('east', ['10.1.0.2']);
  });
});

describe('clusters start side by side', () => {
  it('whatever the others do: silence, 401, HTML, garbage, a server that is not there', async () => {
    const bad = {
      hole: blackHole,
      unauthorised: refuse(401, { reason: 'Unauthorized' }),
      portal: html(200),
      garbage: answer(200, '{"items": 5', { 'content-type': 'application/json' }),
      empty: answer(200, '{}', { 'content-type': 'application/json' }),
    };
    rig.watcher();
    for (const [name, behaviour] of Object.entries(bad)) {
      const double = await rig.cluster();
      double.misbehave(behaviour);
      await rig.link(name, double);
    }
    await rig.link('nobody', { url: 'http://127.0.0.1:9' });
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    await rig.watchBecomes('east', { healthy: true });
    for (const name of [...Object.keys(bad), 'nobody']) {
      const reason = expect.stringMatching(name === 'hole' ? 'no answer' : /./) as never;
      await rig.watchBecomes(name, { serving: 0, healthy: false, reason });
    }
  });

  it('and one that had been bad comes in sync once it is good', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    east.misbehave(refuse(503));
    rig.watcher();
    await rig.link('east', east);
    await rig.watchBecomes('east', { serving: 0, reason: expect.stringMatching('503') as never });
    east.misbehave(undefined);
    await rig.becomes('east', ['10.1.0.1']);
  });
});

describe('a cluster that lacks a kind', () => {
  it('is in sync without ExternalWorkloads, and takes them in when they come (report 75)', async () => {
    const east = await rig.cluster();
    east.unserved.add('externalworkloads');
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    const watcher = rig.watcher();
    await rig.link('east', east);
    await rig.becomes('east', ['10.1.0.1']);
    await rig.watchBecomes('east', { healthy: true, reason: '', objects: 1 });
    east.unserved.clear();
    east.workloadVersion = 'v1alpha1';
    east.put('externalworkloads', workload);
    await rig.watchBecomes('east', { healthy: true, objects: 2 });
    await watchesBecome(east, 3);
    // No watch had missed them: there was none.
    const [[, counts] = ['', []]] = watcher.counts();
    expect(counts.find(({ kind }) => kind === 'workload')?.changes).toBe(0);
  });

  it('is not answered from before its v1alpha1 ExternalWorkloads are there, nor at a rotation', async () => {
    const east = await rig.cluster();
    east.workloadVersion = 'v1alpha1';
    east.put('endpointslices', workloadSlice());
    east.put('externalworkloads', workload);
    rig.watcher();
    const seen: unknown[] = [];
    for (let times = 0; times < 3; times++) {
      const next = await rig.link('east', east);
      await eventually(async () => {
        const { generation, identity } = await readWorkload();
        if (generation > 0) seen.push(identity);
        expect(generation).toBe(next);
      });
    }
    expect(seen).toEqual(seen.map(() => expect.objectContaining(IDENTITY)));
  });

  it('waits for its word on where ExternalWorkloads are, and says so', async () => {
    const east = await rig.cluster();
    east.unserved.add('externalworkloads');
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    const noWord = refuse(503);
    east.misbehave((request, response, proceed) => {
      if (request.url === '/apis/workload.linkerd.io') noWord(request, response, proceed);
      else proceed();
    });
    rig.watcher();
    await rig.link('east', east);
    const reason = expect.stringMatching('get the versions of .*503') as never;
    await rig.watchBecomes('east', { serving: 0, reason });
    east.misbehave(undefined);
    await rig.becomes('east', ['10.1.0.1']);
    await rig.watchBecomes('east', { healthy: true, reason: '' });
  });

  it('is not in sync without EndpointSlices, and says why (report 73)', async () => {
    const east = await rig.cluster();
    east.unserved.add('endpointslices');
    rig.watcher();
    await rig.link('east', east);
    const reason = expect.stringMatching('endpointslices of cluster east') as unknown as string;
    await rig.watchBecomes('east', { serving: 0, healthy: false, reason });
  });
});

describe('a list that takes longer than it may', () => {
  it('leaves its cluster unknown, rather than empty, and is taken in when it comes (report 73)', async () => {
    const east = await rig.cluster();
    east.put('services', webService());
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    const gate = held();
    let lists = 0;
    east.misbehave((request, response, proceed) => {
      if (request.url?.includes('endpointslices') !== true) return proceed();
      lists += 1;
      gate.behaviour(request, response, proceed);
    });
    const credentials = staticCredentials({ authorization: `Bearer ${DOUBLE_TOKEN}` });
    const client = createKubeClient({ server: east.url, insecure: false, credentials });
    const impatient: KubeClient = {
      ...client,
      list: (path, options) => client.list(path, { ...options, timeoutMs: 1_000 }),
    };
    rig.watcher({ connect: () => Promise.resolve(impatient) });
    const generation = await rig.link('east', east);
    const seen = new Set<number>();
    // The time limit of the first one is over, and a second one hangs as well.
    await eventually(async () => {
      seen.add((await rig.read('east')).generation);
      expect(lists).toBeGreaterThan(1);
    });
    const reason = expect.stringMatching('endpointslices of cluster east') as unknown as string;
    const watch = await rig.watchBecomes('east', { serving: 0, healthy: false, reason });
    const decision = await rig.registry.decision('tether/east');
    if (decision === null) throw new Error('there is no decision');
    const { state, answers } = describeCluster(decision, watch, watch.at);
    expect({ state, answers }).toEqual({ state: 'Unreachable', answers: false });
    expect([...seen]).toEqual([0]);
    gate.release();
    east.misbehave(undefined);
    expect(await rig.becomes('east', ['10.1.0.1'])).toMatchObject({ generation });
    await rig.watchBecomes('east', { serving: generation, healthy: true, reason: '' });
  });
});

describe('watchers share the clusters', () => {
  it('each watched by one, and all by those who are left', async () => {
    const doubles = await Promise.all(Array.from({ length: 6 }, () => rig.cluster()));
    const watchers = [rig.watcher(), rig.watcher(), rig.watcher()];
    await Promise.all(doubles.map((double, at) => rig.link(`c-${at}`, double)));
    const once = (): Promise<void[]> =>
      Promise.all(doubles.map((double) => watchesBecome(double, 3)));
    const shared = (): number => watchers.reduce((sum, one) => sum + one.counts().length, 0);
    await once();
    await eventually(() => expect(shared()).toBe(6));
    await watchers[0]?.stop();
    await once();
    await watchers[1]?.stop();
    await once();
    await eventually(() => expect(watchers[2]?.counts()).toHaveLength(6));
  });

  it('and hand over without a moment in which nobody watches', async () => {
    const east = await rig.cluster();
    rig.watcher({ id: 'first' });
    await rig.link('east', east);
    await rig.watchBecomes('east', { owner: 'first', healthy: true });
    let least = Infinity;
    timer = setInterval(() => (least = Math.min(least, east.openWatches)), 1);
    const gate = held();
    east.misbehave((request, response, proceed) => {
      if (request.url?.includes('watch=true') === true) proceed();
      else gate.behaviour(request, response, proceed);
    });
    const lists = east.requests.get('/api/v1/services') ?? 0;
    // Of enough newcomers one is to own it.
    for (let at = 0; at < 8; at++) rig.watcher({ id: `other-${at}` });
    await eventually(() => expect(east.requests.get('/api/v1/services')).toBeGreaterThan(lists));
    // As long as the newcomer's lists take, the first one goes on and says so.
    const { at: begun = 0 } = (await rig.watch('east')) ?? {};
    await eventually(async () =>
      expect((await rig.watch('east'))?.at).toBeGreaterThan(begun + 2_000),
    );
    await rig.watchBecomes('east', { owner: 'first', healthy: true });
    gate.release();
    await eventually(async () => {
      const watch = await rig.watch('east');
      expect(watch?.owner).not.toBe('first');
      expect(watch?.syncedAt).toBe(watch?.at);
      expect(east.openWatches).toBe(3);
    });
    expect(least).toBe(3);
  });

  it('and hold on to a cluster that nobody has told of, until somebody else is in sync', async () => {
    const east = await rig.cluster();
    const heir = Array.from({ length: 64 }, (_, at) => `heir-${at}`).find(
      (id) => ownersOf('east', ['first', id], 1)[0] === id,
    );
    let members = ['first'];
    let looks = 0;
    let looksBefore = Infinity;
    const beat = (): Promise<readonly string[]> => {
      if (members.length > 1) looksBefore = Math.min(looksBefore, looks);
      return Promise.resolve(members);
    };
    const decisions = (): Promise<ClusterDecision[]> => {
      looks += 1;
      return rig.registry.decisions();
    };
    const first = rig.watcher({
      id: 'first',
      members: { beat, leave: () => Promise.resolve() },
      registry: { ...rig.registry, decisions, tellWatch: () => Promise.resolve() },
    });
    await rig.link('east', east);
    await watchesBecome(east, 3);
    members = ['first', heir ?? ''];
    // The second look begins after the first one to know of the heir.
    await eventually(() => expect(looks).toBeGreaterThanOrEqual(looksBefore + 2));
    expect(first.counts().map(([cluster]) => cluster)).toEqual(['east']);
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    await rig.becomes('east', ['10.1.0.1']);
  });

  it('or watch each by two, one of which may go', async () => {
    const east = await rig.cluster();
    const watchers = [rig.watcher({ owners: 2 }), rig.watcher({ owners: 2 })];
    await rig.link('east', east);
    await watchesBecome(east, 6);
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    await rig.becomes('east', ['10.1.0.1']);
    await watchers[0]?.stop();
    await watchesBecome(east, 3);
    east.put('endpointslices', webSlice('web-1', ['10.1.0.2']));
    await rig.becomes('east', ['10.1.0.2']);
    await rig.watchBecomes('east', { healthy: true });
  });
});

describe('a watcher that takes over', () => {
  it('starts from the view, and repairs what changed meanwhile', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    east.put('endpointslices', webSlice('web-2', ['10.1.0.2']));
    const first = rig.watcher();
    const generation = await rig.link('east', east);
    await rig.watchBecomes('east', { serving: generation, healthy: true, objects: 2 });
    await first.stop();
    expect(await rig.read('east')).toEqual({ generation, ips: ['10.1.0.1', '10.1.0.2'] });
    east.remove('endpointslices', 'shop', 'web-1');
    east.put('endpointslices', webSlice('web-3', ['10.1.0.3']));
    rig.watcher();
    const { generation: after } = await rig.becomes('east', ['10.1.0.2', '10.1.0.3']);
    expect(after).toBe(generation);
  });

  it('waits for the registry where the Secret has changed since, and answers stay', async () => {
    const east = await rig.cluster();
    east.put('endpointslices', webSlice('web-1', ['10.1.0.1']));
    const first = rig.watcher();
    const generation = await rig.link('east', east);
    await rig.watchBecomes('east', { healthy: true });
    await first.stop();
    rig.overwrite('east');
    rig.watcher();
    const reason = expect.stringMatching('the Secret holds something else') as unknown as string;
    await rig.watchBecomes('east', { serving: generation, healthy: false, reason });
    expect((await rig.read('east')).ips).toEqual(['10.1.0.1']);
    const next = await rig.link('east', east);
    await rig.watchBecomes('east', { serving: next, healthy: true });
  });
});

describe('the served cluster', () => {
  it('is watched as a linked one while a federated Service has members there', async () => {
    const served = await rig.cluster();
    served.put('endpointslices', webSlice('web-1', ['10.9.0.1']));
    let wanted: boolean | null = null;
    const credentials = staticCredentials({ authorization: `Bearer ${DOUBLE_TOKEN}` });
    const client = createKubeClient({ server: served.url, insecure: false, credentials });
    rig.watcher({
      localWanted: () => wanted,
      connectLocal: () => Promise.resolve({ ...client, close: () => Promise.resolve() }),
    });
    const east = await rig.cluster();
    await rig.link('east', east);
    await rig.watchBecomes('east', { healthy: true });
    expect(served.openWatches).toBe(0);
    wanted = true;
    await rig.becomes(LOCAL_CLUSTER, ['10.9.0.1']);
    wanted = false;
    await watchesBecome(served, 0);
    await eventually(async () => expect(await rig.watch(LOCAL_CLUSTER)).toBeUndefined());
    expect((await rig.keys()).filter((key) => key.includes(`:cluster:${LOCAL_CLUSTER}`))).toEqual(
      [],
    );
    await client.close();
  });
});
