import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { apiOk } from '../support/api.ts';
import { startSliceReader, type SliceReader } from '../support/churn-reader.ts';
import { eventually } from '../support/eventually.ts';
import { createLinkerdSlice, LINKERD, startLinkerdController } from '../support/linkerd-slices.ts';
import { freshNamespace } from '../support/namespaces.ts';
import {
  createService,
  createWorkload,
  mergePatch,
  nameOf,
  setReady,
  slicesOf,
  slicesPath,
} from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';
import { TEST_MANAGER } from '../support/run.ts';
import { rigOf } from '../support/up-rig.ts';

let ns: string;
let prefix: string;
let reader: SliceReader | undefined;
let count = 0;
const rig = rigOf(() => ns);
beforeEach(async () => {
  ns = await freshNamespace('adopt');
  count += 1;
  prefix = `adopt-${process.pid}-${count}`;
});
afterEach(async () => {
  await reader?.stop();
  reader = undefined;
});

const ADOPT = ['--adopt', LINKERD];

async function start(role: string, options: readonly string[] = []): Promise<TetherProcess> {
  const only = role === 'worker' ? [] : ['--namespaces', ns];
  const tether = spawnTether([role, '--redis-prefix', prefix, ...only, ...options]);
  await tether.untilLog(/"ready"/);
  return tether;
}

/** A Service `web` with workloads a and b that are ready, and c that is not. */
async function web(spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await createService(ns, 'web', { spec });
  await createWorkload(ns, 'a', 'web', { ips: ['192.0.2.1', '2001:db8::1'] });
  await createWorkload(ns, 'b', 'web', { ips: ['192.0.2.2', '2001:db8::2'] });
  await createWorkload(ns, 'c', 'web', { ips: ['192.0.2.3', '2001:db8::3'], ready: false });
}

async function everythingIsOurs(slices: number): Promise<ApiEndpointSlice[]> {
  return eventually(async () => {
    expect(await slicesOf(ns, 'web', LINKERD)).toEqual([]);
    const ours = await slicesOf(ns, 'web');
    expect(ours).toHaveLength(slices);
    return ours;
  });
}

/** As it comes in a list. */
function itemOf(slice: ApiEndpointSlice): object {
  const parts = Object.entries(slice).filter(([part]) => part !== 'apiVersion' && part !== 'kind');
  return Object.fromEntries(parts);
}

/** A slice without what one write changes. */
function kept({ metadata, addressType, ports, endpoints }: ApiEndpointSlice): object {
  const { uid, name, ownerReferences, labels } = metadata ?? {};
  const others = Object.entries(labels ?? {}).filter(([label]) => label !== LABEL_MANAGED_BY);
  const metadataKept = { uid, name, ownerReferences, labels: Object.fromEntries(others) };
  return { metadata: metadataKept, addressType, ports, endpoints };
}

describe('slices of a manager that has stopped (B6)', () => {
  it('become ours in place: one write each, no endpoint missing or double at any moment', async () => {
    await web({ ipFamilyPolicy: 'RequireDualStack' });
    const before = [
      await createLinkerdSlice(ns, 'web', ['a', 'c']),
      await createLinkerdSlice(ns, 'web', ['b']),
      await createLinkerdSlice(ns, 'web', ['a', 'b', 'c'], 'IPv6'),
    ];
    reader = await startSliceReader(ns);
    reader.expectAlways(['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8::2']);
    const tether = await start('up', ADOPT);
    const after = await everythingIsOurs(3);
    await rig.afterwards();
    await reader.caughtUp();
    expect(reader.takeMissing()).toEqual([]);
    expect(reader.takeDoubled()).toEqual([]);
    for (const slice of before) {
      expect(reader.eventsOf(nameOf(slice))).toEqual(['MODIFIED']);
      const ours = after.find((one) => nameOf(one) === nameOf(slice));
      expect(kept(ours ?? {})).toEqual(kept(slice));
    }

    // From now on the option is not needed: nothing is written for its absence, and changes are followed.
    await tether.stop();
    await start('up');
    await rig.afterwards();
    await setReady(ns, 'c', true);
    const changed = (slice: ApiEndpointSlice): boolean => nameOf(slice) !== nameOf(before[1] ?? {});
    await eventually(() => {
      for (const slice of before) {
        const events = changed(slice) ? ['MODIFIED', 'MODIFIED'] : ['MODIFIED'];
        expect(reader?.eventsOf(nameOf(slice))).toEqual(events);
      }
    });
    expect(reader.takeMissing()).toEqual([]);
    expect(reader.takeDoubled()).toEqual([]);
  });

  it('are not doubled by a worker that is told so, whose watcher is not', async () => {
    await web();
    const slice = await createLinkerdSlice(ns, 'web', ['a', 'b', 'c']);
    reader = await startSliceReader(ns);
    reader.expectAlways(['192.0.2.1', '192.0.2.2']);
    await Promise.all([start('watcher'), start('worker', ADOPT)]);
    await everythingIsOurs(1);
    await rig.afterwards();
    await reader.caughtUp();
    expect(reader.eventsOf(nameOf(slice))).toEqual(['MODIFIED']);
    expect([reader.takeMissing(), reader.takeDoubled()]).toEqual([[], []]);
  });

  it('stay as they are where nobody says so', async () => {
    await web();
    const slice = await createLinkerdSlice(ns, 'web', ['a', 'b', 'c']);
    await start('up');
    await rig.afterwards();
    expect(await slicesOf(ns, 'web', LINKERD)).toEqual([itemOf(slice)]);
  });

  it('can be looked at before: a dry run shows what would be written', async () => {
    await web();
    const slice = await createLinkerdSlice(ns, 'web', ['a', 'b', 'c']);
    const line = ['reconcile', 'service', `${ns}/web`, '--dry-run', ...ADOPT];
    const { code, stdout } = await runTether(line);
    expect({ code, writes: stdout.split('\n').slice(0, 1) }).toEqual({
      code: 0,
      writes: [`update ${nameOf(slice)}: IPv4 [http:8080/TCP] 192.0.2.1 192.0.2.2 192.0.2.3`],
    });
    expect(await slicesOf(ns, 'web', LINKERD)).toEqual([itemOf(slice)]);
  });
});

describe('a manager that goes on writing while its slices are taken over', () => {
  it('is not fought: its next slice is left alone for a while', async () => {
    await web();
    const linkerd = startLinkerdController(ns, 'web', ['a', 'b', 'c']);
    try {
      const first = await eventually(async () => {
        const [slice] = await slicesOf(ns, 'web', LINKERD);
        expect(slice).toBeDefined();
        return nameOf(slice ?? {});
      });
      reader = await startSliceReader(ns);
      await start('up', ADOPT);
      await eventually(() => expect(linkerd.made).toHaveLength(2));
      for (let passed = 0; passed < 3; passed += 1) await rig.afterwards();
      await reader.caughtUp();
      expect(reader.eventsOf(first)).toEqual(['MODIFIED']);
      expect(reader.eventsOf(linkerd.made[1] ?? '')).toEqual(['ADDED']);
      expect(linkerd.made).toHaveLength(2);
    } finally {
      await linkerd.stop();
    }
    // Once it has stopped, who asks for the Service has all of it in our hands.
    const line = ['reconcile', 'service', `${ns}/web`, '--wait', '--redis-prefix', prefix];
    expect((await runTether(line)).code).toBe(0);
    await everythingIsOurs(1);
    await rig.endpointsBecome('web', [
      '192.0.2.1 8080 ready',
      '192.0.2.2 8080 ready',
      '192.0.2.3 8080 not-ready',
    ]);
  });

  it('is no cause for an Event at the start, when its slices are still there', async () => {
    for (const name of ['first', 'second']) await createService(ns, name);
    await createLinkerdSlice(ns, 'first', []);
    await apiOk('POST', slicesPath(ns), {
      // Told of after the other one, as the list is in the order of names.
      metadata: {
        name: 'zzz',
        labels: { [LABEL_SERVICE_NAME]: 'second', [LABEL_MANAGED_BY]: 'another' },
      },
      addressType: 'IPv4',
      endpoints: [],
    });
    await start('watcher', ADOPT);
    const events = await eventually(async () => {
      const text = JSON.stringify(await apiOk('GET', `/api/v1/namespaces/${ns}/events`));
      expect(text).toContain('another writes EndpointSlices for this Service');
      return text;
    });
    expect(events).not.toContain(LINKERD);
  });

  it('is named in an Event on the Service', async () => {
    await web();
    const linkerd = startLinkerdController(ns, 'web', ['a', 'b', 'c']);
    try {
      await start('up', [...ADOPT, '--resync-seconds', '1']);
      await eventually(async () => {
        const events = JSON.stringify(await apiOk('GET', `/api/v1/namespaces/${ns}/events`));
        expect(events).toContain(`${LINKERD} goes on writing EndpointSlices for this Service`);
      });
    } finally {
      await linkerd.stop();
    }
  });
});

describe('a slice that its manager changes just then', () => {
  const run = reconcileRig();

  it('is read again and taken over as it is by now (H1)', async () => {
    ns = run.ns;
    await web();
    const slice = await createLinkerdSlice(ns, 'web', ['a', 'b', 'c']);
    run.deps = { ...run.deps, plan: { ...run.deps.plan, adopt: [LINKERD] } };
    let changed = false;
    run.api.before = async ({ verb }) => {
      if (verb !== 'update' || changed) return;
      changed = true;
      await mergePatch(slicesPath(ns, nameOf(slice)), {
        metadata: { annotations: { 'example.test/last': 'word' } },
      });
    };
    expect(await run.run('web')).toMatchObject({
      kind: 'done',
      result: { updated: 1, created: 0 },
    });
    const update = `update slice/${nameOf(slice)}`;
    expect(run.api.writes()).toEqual([update, update]);
    expect((await slicesOf(ns, 'web', TEST_MANAGER))[0]?.metadata).toMatchObject({
      uid: slice.metadata?.uid,
      annotations: { 'example.test/last': 'word' },
    });
  });
});
