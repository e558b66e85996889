import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { createKubeClient, type KubeClient } from '../../platform/kube/client.ts';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  generationOf,
  mergePatch,
  nameOf,
  remove,
  servicePath,
  setReady,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { complaintsOf, spawnTether, type TetherProcess } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/*
 * One Service of a thousand and one workloads, on the real API server. They take seconds to make, so
 * the tests go on from one another, in this order.
 */
const COUNT = 1_001;
const NAMES = Array.from({ length: COUNT }, (_, at) => `vm-${String(at).padStart(4, '0')}`);
const THOUSAND = NAMES.slice(0, -1);
const FULL = 100;
/** For what takes a thousand requests, on a machine that is busy, ms. */
const LONG = 180_000;

let ns: string;
let client: KubeClient;
let tether: TetherProcess;

const startTether = async (...args: string[]): Promise<void> => {
  const common = ['--redis-prefix', `many-${process.pid}`, '--namespaces', ns];
  tether = spawnTether(['up', ...common, '--log-format', 'json', ...args], { lifetime: 'file' });
  await tether.untilLog(/"msg":"ready"/);
};

beforeAll(async () => {
  client = createKubeClient(await loadKubeConfig({ path: fromRun('kubeconfig'), env: {} }));
  ns = await freshNamespace('many');
  await Promise.all(NAMES.map(createOne));
  await startTether();
}, LONG);
afterAll(async () => {
  await tether.stop();
  await client.close();
});

/** Over connections that stay open: a thousand TLS handshakes take longer than all the rest. */
function createOne(name: string): Promise<unknown> {
  const at = NAMES.indexOf(name);
  const body = {
    apiVersion: 'workload.linkerd.io/v1beta1',
    kind: 'ExternalWorkload',
    metadata: { name, labels: { app: 'web' } },
    spec: {
      meshTLS: { identity: `spiffe://root.example/${name}`, serverName: `${name}.example` },
      workloadIPs: [{ ip: `198.18.${at >> 8}.${at & 255}` }],
      ports: [{ port: 8080 }, { port: 9090 }],
    },
  };
  return client.create(workloadPath(ns), body, { what: 'create a workload', timeoutMs: LONG });
}

function sayReady(name: string, status: 'True' | 'False'): Promise<unknown> {
  const path = `${workloadPath(ns, name)}/status`;
  const body = { status: { conditions: [{ type: 'Ready', status }] } };
  const options = { what: 'patch a status', timeoutMs: LONG };
  return client.patch(path, body, 'application/merge-patch+json', options);
}

const readyIn = (slices: readonly ApiEndpointSlice[]): number =>
  slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready === true).length;

const sizes = (slices: readonly ApiEndpointSlice[]): number[] =>
  slices.map(({ endpoints }) => endpoints?.length ?? 0).sort((a, b) => b - a);

/** Waits until the slices of `web` are as they should be, and gives them. */
const webBecomes = (look: (slices: readonly ApiEndpointSlice[]) => void) =>
  eventually(
    async () => {
      const slices = await slicesOf(ns, 'web');
      look(slices);
      return slices;
    },
    { timeoutMs: 60_000, intervalMs: 100 },
  );

/** How often each slice of `after` was written since `before`, those that were not left out. */
function writesOf(
  before: readonly ApiEndpointSlice[],
  after: readonly ApiEndpointSlice[],
): Record<string, number> {
  const then = new Map(before.map((slice) => [slice.metadata?.uid, generationOf(slice)]));
  const counts = after.map((slice) => [
    nameOf(slice),
    generationOf(slice) - (then.get(slice.metadata?.uid) ?? 0),
  ]);
  return Object.fromEntries(counts.filter(([, count]) => count !== 0)) as Record<string, number>;
}

const total = (writes: Record<string, number>): number =>
  Object.values(writes).reduce((sum, count) => sum + count, 0);

const TEN_FULL = Array.from({ length: 10 }, () => FULL);

describe('a Service of a thousand workloads and one', () => {
  it('has no slice above 100, none but the last below, and each written once (report 83)', async () => {
    await createService(ns, 'web');
    const slices = await webBecomes((found) => expect(sizes(found)).toEqual([...TEN_FULL, 1]));
    expect(slices.map(generationOf)).toEqual(slices.map(() => 1));
  });

  it(
    'follows a thousand that become ready one by one with far fewer writes (report 83)',
    async () => {
      const before = await slicesOf(ns, 'web');
      await Promise.all(THOUSAND.map((name) => sayReady(name, 'True')));
      const after = await webBecomes((found) => expect(readyIn(found)).toBe(1_000));
      expect(sizes(after)).toEqual([...TEN_FULL, 1]);
      expect(total(writesOf(before, after))).toBeLessThan(THOUSAND.length / 2);
    },
    LONG,
  );

  it('follows hundreds that it comes to late with a few writes a slice (report 83)', async () => {
    const before = await slicesOf(ns, 'web');
    tether.freeze();
    await Promise.all(THOUSAND.slice(0, 300).map((name) => sayReady(name, 'False')));
    tether.thaw();
    const after = await webBecomes((found) => expect(readyIn(found)).toBe(700));
    expect(total(writesOf(before, after))).toBeLessThanOrEqual(15);
  });

  it('follows one of them with one write of one slice (report 83)', async () => {
    const before = await slicesOf(ns, 'web');
    await setReady(ns, 'vm-0500', false);
    const after = await webBecomes((found) => expect(readyIn(found)).toBe(699));
    expect(total(writesOf(before, after))).toBe(1);
  });

  it('touches no full slice when one joins or leaves, but the one that it was in (report 83)', async () => {
    const before = await slicesOf(ns, 'web');
    await remove(workloadPath(ns, 'vm-0500'));
    const without = await webBecomes((found) =>
      expect(sizes(found)).toEqual([...TEN_FULL.slice(1), FULL - 1, 1]),
    );
    expect(total(writesOf(before, without))).toBe(1);
    // The newcomer goes where it fills a slice, and that alone is written.
    await createOne('vm-0500');
    const again = await webBecomes((found) => expect(sizes(found)).toEqual([...TEN_FULL, 1]));
    expect(total(writesOf(without, again))).toBe(1);
    // With all of them full, one that leaves the last takes that slice with it.
    await remove(workloadPath(ns, 'vm-1000'));
    const full = await webBecomes((found) => expect(sizes(found)).toEqual(TEN_FULL));
    expect(writesOf(again, full)).toEqual({});
    await createOne('vm-1000');
    const last = await webBecomes((found) => expect(sizes(found)).toEqual([...TEN_FULL, 1]));
    expect(total(writesOf(full, last))).toBe(1);
  });

  it('moves to another port in place: each slice once, none made, none deleted (report 49, 83)', async () => {
    const before = await slicesOf(ns, 'web');
    const ports = [{ name: 'http', port: 80, targetPort: 9090 }];
    await mergePatch(servicePath(ns, 'web'), { spec: { ports } });
    const after = await webBecomes((found) =>
      expect(found.map((slice) => slice.ports?.[0]?.port)).toEqual(before.map(() => 9090)),
    );
    expect(after.map(({ metadata }) => metadata?.uid)).toEqual(
      before.map(({ metadata }) => metadata?.uid),
    );
    expect(sizes(after)).toEqual([...TEN_FULL, 1]);
    expect(Object.values(writesOf(before, after))).toEqual(before.map(() => 1));
  });

  it('may have a thousand in one slice, the most that the API server takes (F1, report 83)', async () => {
    await tether.stop();
    await startTether('--max-endpoints-per-slice', '1000');
    await createService(ns, 'wide', { spec: { selector: { app: 'web' } } });
    await eventually(async () => expect(sizes(await slicesOf(ns, 'wide'))).toEqual([1_000, 1]));
    // Slices that are right are not packed anew because there is more room.
    expect(sizes(await slicesOf(ns, 'web'))).toEqual([...TEN_FULL, 1]);
  });

  it('has no slice left once its selector takes none of them (report 83)', async () => {
    await mergePatch(servicePath(ns, 'web'), { spec: { selector: { app: 'nobody' } } });
    await remove(servicePath(ns, 'wide'));
    await webBecomes((found) => expect(found).toEqual([]));
    await eventually(async () => expect(await slicesOf(ns, 'wide')).toEqual([]));
    expect(complaintsOf(tether)).toEqual([]);
  });
});
