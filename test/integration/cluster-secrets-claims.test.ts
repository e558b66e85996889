import { describe, expect, it } from '@jest/globals';
import type { ClusterDecision } from '../../core/cluster.ts';
import { LABEL_CLUSTER_NAME } from '../../core/names.ts';
import { createClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import { ApiDouble } from '../support/api-double.ts';
import { apiOk } from '../support/api.ts';
import { blackHoleServer, clusterRig, roleArgs } from '../support/cluster-rig.ts';
import { kubeconfigOf, partsOfFile, putSecret, secretPath } from '../support/cluster-secrets.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { mergePatch } from '../support/objects.ts';
import { spawnTether } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/* Which Secret a cluster's name belongs to, and what is no cluster Secret (any more). */

const rig = clusterRig('cs-claims');
const right = (): string => kubeconfigOf(partsOfFile(fromRun('kubeconfig')));

const put = (name: string, cluster: string | null): Promise<void> =>
  rig.put({ name, cluster, kubeconfig: right() });

const relabel = (name: string, cluster: string | null): Promise<unknown> =>
  mergePatch(secretPath(rig.ns, name), {
    metadata: { labels: { [LABEL_CLUSTER_NAME]: cluster } },
  });

describe('two Secrets for one cluster', () => {
  it('the older wins, then the name; the other is in Conflict and says with whom', async () => {
    await put('a-first', 'one');
    await rig.decided('a-first', { verdict: 'Accepted' });
    await put('b-second', 'one');
    const { reason } = await rig.decided('b-second', { verdict: 'Conflict', accepted: null });
    expect(reason).toContain(`described by the older Secret ${rig.ns}/a-first`);
    await rig.decided('a-first', { verdict: 'Accepted' });
    await eventually(async () => {
      const reasons = (await rig.events('b-second')).map((event) => event.reason);
      expect(reasons).toContain('ClusterConflict');
    });
  });

  it('deleting the loser changes nothing', async () => {
    const before = await rig.decided('a-first', { verdict: 'Accepted' });
    await rig.drop('b-second');
    await rig.forgotten('b-second');
    expect(await rig.registry.decision(`${rig.ns}/a-first`)).toEqual(before);
  });

  it('the loser takes over at once when the winner goes', async () => {
    await put('b-second', 'one');
    await rig.decided('b-second', { verdict: 'Conflict' });
    await rig.drop('a-first');
    await rig.decided('b-second', { verdict: 'Accepted' });
    await rig.forgotten('a-first');
  });

  it('or when the winner takes another name', async () => {
    await put('c-third', 'one');
    await rig.decided('c-third', { verdict: 'Conflict' });
    await relabel('b-second', 'two');
    await rig.decided('c-third', { verdict: 'Accepted', cluster: 'one' });
    await rig.decided('b-second', { verdict: 'Accepted', cluster: 'two' });
  });

  it('an older one that takes the name later gets it', async () => {
    await relabel('b-second', 'one');
    await rig.decided('b-second', { verdict: 'Accepted', cluster: 'one' });
    await rig.decided('c-third', { verdict: 'Conflict', accepted: null });
  });

  it('one that is Invalid keeps the name all the same', async () => {
    await rig.put({ name: 'b-second', cluster: 'one', kubeconfig: 'a: [' });
    await rig.decided('b-second', { verdict: 'Invalid' });
    await rig.decided('c-third', { verdict: 'Conflict' });
    await rig.drop('b-second');
    await rig.decided('c-third', { verdict: 'Accepted' });
  });

  it('many that come at once end with one owner', async () => {
    const names = Array.from({ length: 8 }, (_, at) => `many-${at}`);
    await Promise.all(names.map((name) => put(name, 'many')));
    await eventually(async () => {
      const all = await rig.registry.decisions();
      const verdicts = all.filter(({ cluster }) => cluster === 'many').map((one) => one.verdict);
      expect(verdicts.toSorted()).toEqual(['Accepted', ...Array(7).fill('Conflict')]);
    });
    await Promise.all(names.map((name) => rig.drop(name)));
    await Promise.all(names.map((name) => rig.forgotten(name)));
  });
});

describe('exactly one state a living cluster (report 109)', () => {
  const states = async (cluster: string): Promise<Record<string, number>> => {
    const found = [...(await rig.metrics())].flatMap(([series, value]) => {
      const [, name, state] =
        /^tether_cluster_state\{cluster="(.*)",state="(.*)"\}$/.exec(series) ?? [];
      return name === cluster && state !== undefined ? [[state, value] as const] : [];
    });
    return Object.fromEntries(found);
  };

  it('and none of a deleted one', async () => {
    await put('seen', 'seen');
    await put('seen-too', 'seen');
    await rig.decided('seen', { verdict: 'Accepted' });
    await rig.decided('seen-too', { verdict: 'Conflict' });
    const ones = Object.values(await states('seen')).filter((value) => value === 1);
    expect(ones).toEqual([1]);
    expect(Object.keys(await states('seen'))).toHaveLength(6);
    expect((await rig.metrics()).get('tether_cluster_conflicts{cluster="seen"}')).toBe(1);
    await rig.drop('seen-too');
    await rig.drop('seen');
    await rig.forgotten('seen');
    await rig.forgotten('seen-too');
    expect([...(await rig.metrics()).keys()].filter((key) => key.includes('"seen"'))).toEqual([]);
  });

  it('whichever of them timed out, and the others keep theirs when one is deleted', async () => {
    const [first, second] = [await ApiDouble.start(), await ApiDouble.start()];
    const hole = await blackHoleServer();
    const kubeconfigs = {
      'synced-1': first.kubeconfig(),
      'synced-2': second.kubeconfig(),
      'timed-out': kubeconfigOf({ cluster: { server: `https://127.0.0.1:${hole.port}` } }),
    };
    /** The states of each that are 1. */
    const ones = async (): Promise<Record<string, string[]>> => {
      const found: Record<string, string[]> = {};
      for (const cluster of Object.keys(kubeconfigs)) {
        const pairs = Object.entries(await states(cluster));
        if (pairs.length > 0)
          found[cluster] = pairs.flatMap(([state, is]) => (is === 1 ? state : []));
      }
      return found;
    };
    try {
      for (const [name, kubeconfig] of Object.entries(kubeconfigs)) {
        await rig.put({ name, cluster: name, kubeconfig });
      }
      const reason = expect.stringMatching(/in time/) as unknown;
      await rig.decided('timed-out', { verdict: 'Unreachable', reason });
      await eventually(async () =>
        expect(await ones()).toEqual({
          'synced-1': ['Ready'],
          'synced-2': ['Ready'],
          'timed-out': ['Unreachable'],
        }),
      );
      await rig.drop('synced-1');
      await rig.forgotten('synced-1');
      // It is no series in any metric: neither 0 nor what it was.
      await eventually(async () => {
        const series = [...(await rig.metrics()).keys()];
        expect(series.filter((key) => key.includes('"synced-1"'))).toEqual([]);
      });
      expect(await ones()).toEqual({ 'synced-2': ['Ready'], 'timed-out': ['Unreachable'] });
      await rig.drop('synced-2');
      await rig.drop('timed-out');
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
  });
});

describe('what is no cluster Secret', () => {
  it('any more: one that loses its label is forgotten, as if it were deleted (report 69)', async () => {
    await put('once', 'once');
    await rig.decided('once', { verdict: 'Accepted' });
    await relabel('once', null);
    await rig.forgotten('once');
    await eventually(() =>
      expect(rig.worker.stdout()).toMatch(/cluster gone: Secret .*\/once is no/),
    );
  });

  it('because of its type: it is logged once, and nothing comes of it (report 65)', async () => {
    await rig.put({ name: 'opaque', cluster: 'opaque', type: 'Opaque' });
    await rig.watcher.untilLog(/Secret \S+\/opaque has the label \S+, but not the type/);
    await mergePatch(secretPath(rig.ns, 'opaque'), { metadata: { annotations: { a: 'b' } } });
    await rig.drop('opaque');
    await put('after', 'after');
    await rig.decided('after', { verdict: 'Accepted' });
    expect(rig.watcher.stdout().match(/\/opaque has the label/g)).toHaveLength(1);
    expect(await rig.registry.decision(`${rig.ns}/opaque`)).toBeNull();
  });

  it('because of its namespace: it is logged once (report 65)', async () => {
    const elsewhere = await freshNamespace('cs-elsewhere');
    await putSecret({ namespace: elsewhere, name: 'lost', kubeconfig: right() });
    const args = roleArgs(`${rig.prefix}-elsewhere`, rig.ns);
    // Its own account could not see that one.
    const watcher = spawnTether(
      ['watcher', '--namespaces', rig.ns, '--resync-seconds', '1', ...args],
      { env: { KUBECONFIG: fromRun('kubeconfig') } },
    );
    const line = new RegExp(
      `Secret ${elsewhere}/lost has the label .* live in the namespace ${rig.ns}`,
    );
    await watcher.untilLog(line);
    // It looks again at each resync.
    await watcher.untilLog(/(resync: everything listed and enqueued[^]*){6}/);
    expect(watcher.stdout().match(new RegExp(`${elsewhere}/lost has the label`, 'g'))).toHaveLength(
      1,
    );
    // And its key, by whomever it was enqueued, does nothing.
    expect(await rig.registry.decision(`${elsewhere}/lost`)).toBeNull();
  });
});

describe('what nobody saw happen', () => {
  it('is made good at each resync, at the next start, and where Redis lost it (report 71)', async () => {
    const prefix = `${rig.prefix}-resync`;
    const ns = await freshNamespace('cs-resync');
    const args = roleArgs(prefix, ns);
    const worker = spawnTether(['worker', ...args]);
    await worker.untilLog(/"msg":"ready"/);
    const registry = createClusterRegistry(rig.redis, prefix);
    const known = async (): Promise<string[]> =>
      (await registry.decisions()).map(({ secret }) => secret).toSorted();
    const watch = (resyncSeconds: string) =>
      spawnTether(['watcher', '--namespaces', ns, '--resync-seconds', resyncSeconds, ...args]);

    const stays = `${ns}/stays`;
    await putSecret({ namespace: ns, name: 'stays', kubeconfig: right() });
    await putSecret({ namespace: ns, name: 'goes', cluster: 'goes', kubeconfig: right() });
    const first = watch('2');
    await eventually(async () => expect(await known()).toEqual([`${ns}/goes`, stays]));
    await first.untilLog(/resync: everything listed/);
    // As if the event of the last change had been missed.
    const decision = await registry.decision(stays);
    const old = { ...decision?.accepted, hash: 'old' } as ClusterDecision['accepted'];
    await registry.decide({ ...decision, hash: 'old', accepted: old } as ClusterDecision);
    await eventually(async () => {
      const now = await registry.decision(stays);
      expect(now?.accepted?.hash).toBe(decision?.hash);
      expect(now?.accepted?.generation).toBeGreaterThan(decision?.accepted?.generation ?? Infinity);
    });

    await first.kill();
    await apiOk('DELETE', secretPath(ns, 'goes'));
    await putSecret({ namespace: ns, name: 'comes', cluster: 'comes', kubeconfig: right() });
    watch('600');
    await eventually(async () => expect(await known()).toEqual([`${ns}/comes`, stays]));
    // As if Redis had lost an entry.
    await registry.forget(stays);
    await eventually(async () => expect(await known()).toEqual([`${ns}/comes`, stays]));
  }, 120_000);
});
