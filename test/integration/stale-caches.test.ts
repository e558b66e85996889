import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_HEADLESS, LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  generationOf,
  mergePatch,
  nameOf,
  remove,
  servicePath,
  setReady,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { complaintsOf, spawnTether, type TetherProcess } from '../support/processes.ts';
import { TEST_MANAGER } from '../support/run.ts';
import { rigOf } from '../support/up-rig.ts';
import { warningsIn } from '../support/warnings.ts';
import { tapWatches, type WatchTap } from '../support/watch-tap.ts';

/*
 * What is known of slices trails behind what is true of them: a real watcher and a real worker, whose
 * watch of slices says what it says late, twice, not at all, or in the wrong order.
 */
let api: ApiInterceptor;
let slices: WatchTap;
let workloads: WatchTap;
let services: WatchTap;
let tether: TetherProcess;
let ns: string;
const rig = rigOf(() => ns);

beforeAll(async () => {
  api = await startApiInterceptor();
  slices = tapWatches();
  workloads = tapWatches();
  services = tapWatches();
  api.rule = ({ verb, path }) => {
    if (verb !== 'watch') return undefined;
    if (path.endsWith('/endpointslices')) return slices.behaviour;
    if (path.endsWith('/externalworkloads')) return workloads.behaviour;
    return services.behaviour;
  };
  const args = ['up', '--redis-prefix', `stale-${process.pid}`, '--kubeconfig', api.kubeconfig];
  tether = spawnTether([...args, '--log-format', 'json'], { lifetime: 'file' });
  await tether.untilLog(/"msg":"ready"/);
});
afterAll(async () => {
  await tether.kill();
  await api.close();
});
beforeEach(async () => {
  for (const tap of [slices, workloads, services]) tap.release();
  ns = await freshNamespace('stale');
});

/** A Service with one slice, made before anything is held back. */
async function webWith(...names: string[]): Promise<ApiEndpointSlice> {
  await createService(ns, 'web');
  for (const [at, name] of names.entries()) {
    await createWorkload(ns, name, 'web', { ips: [`192.0.2.${at + 1}`] });
  }
  const slice = await rig.sliceBecomes(
    'web',
    names.map((_, at) => `192.0.2.${at + 1} 8080 ready`),
  );
  await untilToldOf(slice);
  return slice;
}

/** Waits until the server has sent this version of a slice to the watch of slices. */
async function untilToldOf({ metadata }: ApiEndpointSlice): Promise<void> {
  const version = `"resourceVersion":"${metadata?.resourceVersion}"`;
  await eventually(() => expect(slices.lines.some((line) => line.includes(version))).toBe(true));
}

/** Resolves once everything said so far was judged: a change by hand that came after it was undone. */
async function judgedAll(service = 'web'): Promise<void> {
  const path = slicesPath(ns, nameOf(await rig.onlySlice(service)));
  await mergePatch(path, { metadata: { labels: { probe: 'yes' } } });
  await eventually(async () => {
    expect((await rig.onlySlice(service)).metadata?.labels).not.toHaveProperty('probe');
  });
}

/** Updates of a slice that changed anything of it, whoever made them. */
function writesBetween(before: ApiEndpointSlice, after: ApiEndpointSlice): number {
  return generationOf(after) - generationOf(before);
}

const inSlice = (name: string): string => slicesPath(ns, name);

describe('while the watch of slices says nothing', () => {
  it('two workloads that become ready in a row share one slice (report 33)', async () => {
    await createService(ns, 'web');
    await createWorkload(ns, 'a', 'web', { ips: ['192.0.2.1'], ready: false });
    await createWorkload(ns, 'b', 'web', { ips: ['192.0.2.2'], ready: false });
    await rig.endpointsBecome('web', ['192.0.2.1 8080 not-ready', '192.0.2.2 8080 not-ready']);
    slices.hold();
    await setReady(ns, 'a', true);
    await setReady(ns, 'b', true);
    const slice = await rig.sliceBecomes('web', ['192.0.2.1 8080 ready', '192.0.2.2 8080 ready']);
    slices.release();
    await judgedAll();
    expect((await rig.onlySlice('web')).metadata?.uid).toBe(slice.metadata?.uid);
  });

  it('a first and a second workload share the slice that nobody has seen yet (report 33)', async () => {
    await createService(ns, 'web');
    slices.hold();
    await createWorkload(ns, 'a', 'web', { ips: ['192.0.2.1'] });
    await rig.endpointsBecome('web', ['192.0.2.1 8080 ready']);
    await createWorkload(ns, 'b', 'web', { ips: ['192.0.2.2'] });
    const slice = await rig.sliceBecomes('web', ['192.0.2.1 8080 ready', '192.0.2.2 8080 ready']);
    // What is told late are echoes, which lead to nothing.
    await untilToldOf(slice);
    slices.release();
    await setReady(ns, 'b', false);
    const after = await rig.sliceBecomes('web', [
      '192.0.2.1 8080 ready',
      '192.0.2.2 8080 not-ready',
    ]);
    expect(after.metadata?.uid).toBe(slice.metadata?.uid);
    expect(writesBetween(slice, after)).toBe(1);
  });

  it('ready, not ready, ready within milliseconds ends in ready (report 34)', async () => {
    await webWith('a');
    slices.hold();
    for (let turn = 0; turn < 5; turn += 1) {
      await setReady(ns, 'a', false);
      await setReady(ns, 'a', true);
    }
    await createWorkload(ns, 'last', 'web', { ips: ['192.0.2.2'] });
    await rig.sliceBecomes('web', ['192.0.2.1 8080 ready', '192.0.2.2 8080 ready']);
    slices.release();
    await judgedAll();
    expect(await endpointsOf(ns, 'web')).toEqual(['192.0.2.1 8080 ready', '192.0.2.2 8080 ready']);
  });

  it('each of many changes is written, none of them taken for done by an old slice (report 34)', async () => {
    await webWith('a');
    slices.hold();
    for (const ready of [false, true, false, true, false]) {
      await setReady(ns, 'a', ready);
      await rig.endpointsBecome('web', [`192.0.2.1 8080 ${ready ? 'ready' : 'not-ready'}`]);
    }
  });

  it('an annotation by another writer costs one quiet retry, and stays (report 37)', async () => {
    const slice = await webWith('a');
    slices.hold();
    await mergePatch(inSlice(nameOf(slice)), {
      metadata: { annotations: { 'example.test/note': 'mine' } },
    });
    await setReady(ns, 'a', false);
    const after = await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    expect(after.metadata?.annotations).toHaveProperty(['example.test/note'], 'mine');
    // The other's write and ours: one update of ours went through, and not two.
    expect(writesBetween(slice, after)).toBe(1);
    expect(await warningsIn(ns)).toEqual([]);
  });

  it('an endpoint that another writer added is gone after the next change (report 37)', async () => {
    const slice = await webWith('a');
    slices.hold();
    const strange = { addresses: ['192.0.2.99'], conditions: { ready: true } };
    await mergePatch(inSlice(nameOf(slice)), { endpoints: [...(slice.endpoints ?? []), strange] });
    await setReady(ns, 'a', false);
    await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    expect(await warningsIn(ns)).toEqual([]);
  });

  it('a slice that somebody deleted is made again by the next change (report 38)', async () => {
    const slice = await webWith('a');
    slices.hold();
    await remove(inSlice(nameOf(slice)));
    await setReady(ns, 'a', false);
    const made = await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    expect(made.metadata?.uid).not.toBe(slice.metadata?.uid);
    // The news of the old one's end says nothing of the new one, which has its name.
    expect(nameOf(made)).toBe(nameOf(slice));
    slices.release();
    await judgedAll();
    expect((await rig.onlySlice('web')).metadata?.uid).toBe(made.metadata?.uid);
    expect(await warningsIn(ns)).toEqual([]);
  });

  it('a slice that somebody deleted first is deleted all the same (report 38)', async () => {
    const slice = await webWith('a');
    slices.hold();
    await remove(inSlice(nameOf(slice)));
    await remove(workloadPath(ns, 'a'));
    await createWorkload(ns, 'b', 'web', { ips: ['192.0.2.2'] });
    await rig.sliceBecomes('web', ['192.0.2.2 8080 ready']);
    await remove(workloadPath(ns, 'b'));
    await rig.noSlices('web');
    expect(await warningsIn(ns)).toEqual([]);
  });

  it('somebody else’s slice under that name is not hit (report 38)', async () => {
    const slice = await webWith('a');
    slices.hold();
    await remove(inSlice(nameOf(slice)));
    const theirs = (await apiOk('POST', slicesPath(ns), {
      metadata: {
        name: nameOf(slice),
        labels: { [LABEL_SERVICE_NAME]: 'web', [LABEL_MANAGED_BY]: 'someone-else' },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.77'] }],
      ports: [],
    })) as ApiEndpointSlice;
    await setReady(ns, 'a', false);
    await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    await remove(workloadPath(ns, 'a'));
    await rig.noSlices('web');
    expect(await apiOk('GET', inSlice(nameOf(slice)))).toEqual(theirs);
  });
});

describe('a watch of slices that goes back and skips (report 35)', () => {
  const about = (line: string, uid: string | undefined): boolean => line.includes(`"${uid}"`);

  it('does not keep the next change from being written', async () => {
    const slice = await webWith('a');
    await setReady(ns, 'a', false);
    await rig.endpointsBecome('web', ['192.0.2.1 8080 not-ready']);
    await setReady(ns, 'a', true);
    const second = await rig.sliceBecomes('web', ['192.0.2.1 8080 ready']);
    await untilToldOf(second);
    // Every version there was, again, the first one last.
    const told = slices.lines.filter((line) => about(line, slice.metadata?.uid));
    expect(told.length).toBeGreaterThanOrEqual(3);
    slices.say(told.toReversed());
    await setReady(ns, 'a', false);
    const third = await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    expect(writesBetween(second, third)).toBe(1);
    await judgedAll();
  });

  it('does not hide what somebody did under a version that it skipped', async () => {
    const slice = await webWith('a');
    const path = inSlice(nameOf(slice));
    slices.hold();
    await mergePatch(path, { endpoints: [{ addresses: ['192.0.2.98'] }] });
    await mergePatch(path, { endpoints: [{ addresses: ['192.0.2.99'] }] });
    const last = (await apiOk('GET', path)) as ApiEndpointSlice;
    await untilToldOf(last);
    // Only the last of the two versions is ever told.
    slices.release((line) => !about(line, slice.metadata?.uid) || line.includes('192.0.2.99'));
    await rig.sliceBecomes('web', ['192.0.2.1 8080 ready']);
  });

  it('is put right by the next change, whatever it skipped', async () => {
    const slice = await webWith('a');
    const path = inSlice(nameOf(slice));
    slices.hold();
    await mergePatch(path, { endpoints: [{ addresses: ['192.0.2.99'] }] });
    await untilToldOf((await apiOk('GET', path)) as ApiEndpointSlice);
    slices.release((line) => !about(line, slice.metadata?.uid));
    await setReady(ns, 'a', false);
    await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    expect(await warningsIn(ns)).toEqual([]);
  });

  it('does not bring back a slice that is gone', async () => {
    const slice = await webWith('a');
    await remove(workloadPath(ns, 'a'));
    await rig.noSlices('web');
    const told = slices.lines.filter((line) => about(line, slice.metadata?.uid));
    slices.say(told.filter((line) => !line.startsWith('{"type":"DELETED"')));
    await createWorkload(ns, 'b', 'web', { ips: ['192.0.2.2'] });
    const made = await rig.sliceBecomes('web', ['192.0.2.2 8080 ready']);
    expect(made.metadata?.uid).not.toBe(slice.metadata?.uid);
    expect(await warningsIn(ns)).toEqual([]);
  });
});

describe('a watch of workloads or Services that is late, or goes back', () => {
  it('old versions of a workload change nothing (report 35)', async () => {
    await webWith('a');
    const uid = ((await apiOk('GET', workloadPath(ns, 'a'))) as ApiEndpointSlice).metadata?.uid;
    await mergePatch(workloadPath(ns, 'a'), { spec: { workloadIPs: [{ ip: '192.0.2.7' }] } });
    const moved = await rig.sliceBecomes('web', ['192.0.2.7 8080 ready']);
    const told = workloads.lines.filter((line) => line.includes(`"${uid}"`));
    expect(told.length).toBeGreaterThanOrEqual(2);
    workloads.say(told.slice(0, -1).toReversed());
    await setReady(ns, 'a', false);
    const after = await rig.sliceBecomes('web', ['192.0.2.7 8080 not-ready']);
    expect(writesBetween(moved, after)).toBe(1);
  });

  it('a deletion that is told again does not take the new one of that name away (report 35)', async () => {
    await webWith('a');
    await remove(workloadPath(ns, 'a'));
    await rig.noSlices('web');
    const deletions = workloads.lines.filter(
      (line) => line.startsWith('{"type":"DELETED"') && line.includes(`"${ns}"`),
    );
    expect(deletions).toHaveLength(1);
    await createWorkload(ns, 'a', 'web', { ips: ['192.0.2.5'] });
    await rig.endpointsBecome('web', ['192.0.2.5 8080 ready']);
    workloads.say(deletions);
    await createWorkload(ns, 'b', 'web', { ips: ['192.0.2.6'] });
    await rig.endpointsBecome('web', ['192.0.2.5 8080 ready', '192.0.2.6 8080 ready']);
  });

  it('a Service whose change is not known yet gets it once it is (report 33)', async () => {
    const slice = await webWith('a');
    services.hold();
    await mergePatch(servicePath(ns, 'web'), { spec: { ports: [{ name: 'alt', port: 8080 }] } });
    await setReady(ns, 'a', false);
    const between = await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    expect(between.ports?.[0]?.name).toBe('http');
    services.release();
    const after = await rig.sliceMatches('web', { ports: [{ name: 'alt', port: 8080 }] });
    expect(after.metadata?.uid).toBe(slice.metadata?.uid);
  });

  it('a Service that is gone, of which the watch says nothing, gets no slices (report 33)', async () => {
    await webWith('a');
    services.hold();
    await remove(servicePath(ns, 'web'));
    const again = await createService(ns, 'web');
    await setReady(ns, 'a', false);
    services.release();
    const made = await eventually(async () => {
      const slice = await rig.onlySlice('web');
      expect(slice.metadata?.ownerReferences?.[0]?.uid).toBe(again.metadata?.uid);
      return slice;
    });
    await rig.sliceBecomes('web', ['192.0.2.1 8080 not-ready']);
    expect(nameOf(made)).not.toBe('');
  });
});

describe('what is read is never changed', () => {
  it('a headless Service stays as it is, and lends its label to nobody (report 39)', async () => {
    const spec = { selector: { app: 'web' } };
    await createService(ns, 'head', { spec: { ...spec, clusterIP: 'None' } });
    await createService(ns, 'web', { spec });
    await createWorkload(ns, 'a', 'web', { ips: ['192.0.2.1'] });
    const before = await apiOk('GET', servicePath(ns, 'head'));
    for (const ready of ['ready', 'not-ready', 'ready']) {
      await setReady(ns, 'a', ready === 'ready');
      const [head, web] = [
        await rig.sliceBecomes('head', [`192.0.2.1 8080 ${ready}`]),
        await rig.sliceBecomes('web', [`192.0.2.1 8080 ${ready}`]),
      ];
      expect(head.metadata?.labels).toHaveProperty([LABEL_HEADLESS], '');
      expect(head.endpoints?.[0]?.hostname).toBe('a');
      expect(web.metadata?.labels).toEqual({
        [LABEL_SERVICE_NAME]: 'web',
        [LABEL_MANAGED_BY]: TEST_MANAGER,
      });
      expect(web.endpoints?.[0]).not.toHaveProperty('hostname');
    }
    expect(await apiOk('GET', servicePath(ns, 'head'))).toEqual(before);
    expect(await slicesOf(ns, 'head')).toHaveLength(1);
  });
});

it('none of this was an error', () => {
  expect(complaintsOf(tether)).toEqual([]);
});
