import { describe, expect, it } from '@jest/globals';
import type { ApiEndpointSlice } from '../../core/api-objects.ts';
import { api, apiOk } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  generationOf,
  mergePatch,
  remove,
  servicePath,
  setReady,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { upRig } from '../support/up-rig.ts';
import { complaintsOf } from '../support/processes.ts';

const rig = upRig('readiness', ['--log-format', 'json']);

const vm = (name: string, ip: string, ready: boolean | null = null): Promise<unknown> =>
  createWorkload(rig.ns, name, 'web', { ips: [ip], ready });

const say = (name: string, conditions: readonly object[] | null): Promise<unknown> =>
  mergePatch(`${workloadPath(rig.ns, name)}/status`, { status: { conditions } });
const is = (status: string, more: object = {}): object => ({ type: 'Ready', status, ...more });

type Conditions = { ready: boolean; serving: boolean; terminating: boolean };
const READY: Conditions = { ready: true, serving: true, terminating: false };
const NOT_READY: Conditions = { ready: false, serving: false, terminating: false };

/** The conditions of each endpoint, by the name of its workload. */
async function conditions(service = 'web'): Promise<Record<string, unknown>> {
  const slices = await slicesOf(rig.ns, service);
  const pairs = slices.flatMap(({ endpoints }) =>
    (endpoints ?? []).map(({ targetRef, conditions: found }) => [targetRef?.name, found]),
  );
  return Object.fromEntries(pairs) as Record<string, unknown>;
}

const conditionsBecome = (
  expected: Readonly<Record<string, Conditions>>,
  service = 'web',
): Promise<ApiEndpointSlice> =>
  eventually(async () => {
    expect(await conditions(service)).toEqual(expected);
    return rig.onlySlice(service);
  });

describe('a workload is ready when its Ready condition is True', () => {
  it('and only then; all three conditions are written for every one (D3, D4, report 59)', async () => {
    await createService(rig.ns, 'web');
    await vm('no-status', '192.0.2.1');
    await vm('unknown', '192.0.2.2');
    await vm('false', '192.0.2.3');
    await vm('true', '192.0.2.4');
    await vm('no-conditions', '192.0.2.5');
    await vm('another-type', '192.0.2.6');
    await vm('another-case', '192.0.2.7');
    await vm('no-word', '192.0.2.8');
    await vm('last-true', '192.0.2.9');
    await vm('last-false', '192.0.2.10');
    await say('unknown', [is('Unknown')]);
    await say('false', [is('False')]);
    await say('true', [{ type: 'Healthy', status: 'False' }, is('True')]);
    await say('no-conditions', []);
    await say('another-type', [{ type: 'Available', status: 'True' }]);
    await say('another-case', [{ type: 'ready', status: 'True' }]);
    await say('no-word', [{ type: 'Ready' }]);
    await say('last-false', [is('True'), is('False')]);
    await say('last-true', [is('False'), is('True')]);
    const { endpoints } = await conditionsBecome({
      'no-status': NOT_READY,
      unknown: NOT_READY,
      false: NOT_READY,
      true: READY,
      'no-conditions': NOT_READY,
      'another-type': NOT_READY,
      'another-case': NOT_READY,
      'no-word': NOT_READY,
      'last-true': READY,
      'last-false': NOT_READY,
    });
    expect(endpoints).toHaveLength(10);
    // Small letters do not get that far.
    const small = { status: { conditions: [is('true')] } };
    const path = `${workloadPath(rig.ns, 'false')}/status`;
    const patch = { contentType: 'application/merge-patch+json' };
    expect(await api('PATCH', path, small, patch)).toMatchObject({ status: 422 });
  });

  it('and not any more once the condition, or the whole status, is gone (D3, report 59)', async () => {
    await createService(rig.ns, 'web');
    for (const name of ['a', 'b', 'c']) await vm(name, '192.0.2.1', true);
    await conditionsBecome({ a: READY, b: READY, c: READY });
    await say('a', []);
    await say('b', null);
    await mergePatch(`${workloadPath(rig.ns, 'c')}/status`, { status: null });
    await conditionsBecome({ a: NOT_READY, b: NOT_READY, c: NOT_READY });
  });

  it('by either version of the kind, from the first moment where its manifest says so (report 59)', async () => {
    await createService(rig.ns, 'web');
    await apiOk('POST', workloadPath(rig.ns).replace('v1beta1', 'v1alpha1'), {
      apiVersion: 'workload.linkerd.io/v1alpha1',
      kind: 'ExternalWorkload',
      metadata: { name: 'old', labels: { app: 'web' } },
      spec: {
        meshTls: { identity: 'spiffe://root.example/old', serverName: 'old.example' },
        workloadIPs: [{ ip: '192.0.2.1' }],
        ports: [{ port: 8080 }],
      },
      status: { conditions: [is('True')] },
    });
    await conditionsBecome({ old: READY });
    await say('old', [is('False')]);
    await conditionsBecome({ old: NOT_READY });
  });
});

describe('a workload that stops being ready', () => {
  it('stays listed, in the same slice, neither ready nor serving (report 58)', async () => {
    await createService(rig.ns, 'web');
    await vm('vm', '192.0.2.1', true);
    await vm('other', '192.0.2.2', true);
    const before = await conditionsBecome({ vm: READY, other: READY });
    await setReady(rig.ns, 'vm', false);
    const after = await conditionsBecome({ vm: NOT_READY, other: READY });
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    expect(generationOf(after)).toBe(generationOf(before) + 1);
    expect(after.endpoints?.map(({ addresses }) => addresses)).toEqual(
      before.endpoints?.map(({ addresses }) => addresses),
    );
  });

  it('does so in every Service that has it, headless and portless ones too (report 58)', async () => {
    const selector = { app: 'web' };
    await createService(rig.ns, 'web');
    await createService(rig.ns, 'head', { spec: { selector, clusterIP: 'None' } });
    await createService(rig.ns, 'bare', { spec: { selector, clusterIP: 'None', ports: [] } });
    await vm('vm', '192.0.2.1', true);
    for (const ready of [true, false, true]) {
      await setReady(rig.ns, 'vm', ready);
      for (const service of ['web', 'head', 'bare']) {
        await conditionsBecome({ vm: ready ? READY : NOT_READY }, service);
      }
    }
  });

  it('because somebody drains it, whoever that is and whatever the reason, comes back (report 61)', async () => {
    await createService(rig.ns, 'web');
    await vm('vm', '192.0.2.1', true);
    const before = await conditionsBecome({ vm: READY });
    await say('vm', [is('False', { reason: 'RegionExit', message: 'on the way out' })]);
    await conditionsBecome({ vm: NOT_READY });
    // That it is healthy is another condition, and none of our business.
    const healthy = { type: 'Healthy', status: 'True' };
    await say('vm', [healthy, is('False', { reason: 'RegionExit' })]);
    await rig.afterwards();
    expect(await conditions()).toEqual({ vm: NOT_READY });
    await say('vm', [healthy, is('True')]);
    const after = await conditionsBecome({ vm: READY });
    expect(generationOf(after)).toBe(generationOf(before) + 2);
  });

  it('and is ready again before anybody looked, many times over, ends as the last word has it (report 61)', async () => {
    await createService(rig.ns, 'web');
    for (const name of ['odd', 'even']) await vm(name, '192.0.2.1', true);
    await conditionsBecome({ odd: READY, even: READY });
    for (let turn = 1; turn <= 9; turn += 1) {
      await Promise.all(['odd', 'even'].map((name) => setReady(rig.ns, name, turn % 2 === 0)));
    }
    await setReady(rig.ns, 'even', true);
    await conditionsBecome({ odd: NOT_READY, even: READY });
    await rig.afterwards();
    expect(await conditions()).toEqual({ odd: NOT_READY, even: READY });
  });
});

it('what changes of a condition beside its status costs no write (report 58)', async () => {
  await createService(rig.ns, 'web');
  await vm('vm', '192.0.2.1', true);
  const before = await conditionsBecome({ vm: READY });
  for (let second = 1; second <= 5; second += 1) {
    await say('vm', [
      is('True', {
        lastTransitionTime: `2026-01-01T00:00:0${second}Z`,
        lastProbeTime: `2026-01-01T00:00:0${second}Z`,
        reason: `Probe${second}`,
        message: 'still there',
        observedGeneration: second,
      }),
    ]);
  }
  await say('vm', [{ type: 'Healthy', status: 'Unknown' }, is('True')]);
  await mergePatch(workloadPath(rig.ns, 'vm'), { metadata: { annotations: { seen: 'now' } } });
  await rig.afterwards();
  expect(await rig.onlySlice('web')).toEqual(before);
});

describe('a Service that publishes addresses that are not ready', () => {
  it('has them ready, and tells by serving what they are (D4, report 59)', async () => {
    await createService(rig.ns, 'web', { spec: { publishNotReadyAddresses: true } });
    await vm('yes', '192.0.2.1', true);
    await vm('no', '192.0.2.2', false);
    await vm('none', '192.0.2.3');
    await conditionsBecome({
      yes: READY,
      no: { ...NOT_READY, ready: true },
      none: { ...NOT_READY, ready: true },
    });
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { publishNotReadyAddresses: false } });
    await conditionsBecome({ yes: READY, no: NOT_READY, none: NOT_READY });
    await mergePatch(servicePath(rig.ns, 'web'), { spec: { publishNotReadyAddresses: true } });
    await setReady(rig.ns, 'yes', false);
    await conditionsBecome({
      yes: { ...NOT_READY, ready: true },
      no: { ...NOT_READY, ready: true },
      none: { ...NOT_READY, ready: true },
    });
  });
});

describe('a workload that is being deleted', () => {
  it('is terminating and takes nothing new; its condition goes on telling whether it serves (D4)', async () => {
    const selector = { app: 'web' };
    await createService(rig.ns, 'web');
    await createService(rig.ns, 'all', { spec: { selector, publishNotReadyAddresses: true } });
    await createWorkload(rig.ns, 'vm', 'web', { finalizers: ['example.test/drain'] });
    await conditionsBecome({ vm: READY });
    await remove(workloadPath(rig.ns, 'vm'));
    await conditionsBecome({ vm: { ready: false, serving: true, terminating: true } });
    await conditionsBecome({ vm: { ready: true, serving: true, terminating: true } }, 'all');
    await setReady(rig.ns, 'vm', false);
    await conditionsBecome({ vm: { ready: false, serving: false, terminating: true } });
    await setReady(rig.ns, 'vm', true);
    await conditionsBecome({ vm: { ready: false, serving: true, terminating: true } });
    await mergePatch(workloadPath(rig.ns, 'vm'), { metadata: { finalizers: null } });
    await rig.noSlices('web');
    await rig.noSlices('all');
    // And is as new when it is made again.
    await createWorkload(rig.ns, 'vm', 'web');
    await conditionsBecome({ vm: READY });
  });
});

it('none of this was an error', () => {
  expect(complaintsOf(rig.tether)).toEqual([]);
});
