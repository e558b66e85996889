import { describe, expect, test } from '@jest/globals';
import { LABEL_MANAGED_BY, LABEL_SERVICE_NAME } from '../../core/names.ts';
import { dryRunService } from '../../functions/dry-run.ts';
import { UnreachableError } from '../../core/errors.ts';
import { apiOk } from '../support/api.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  nameOf,
  remove,
  setReady,
  slicesOf,
  slicesPath,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';

const rig = reconcileRig();

async function webWith(...workloads: string[]): Promise<void> {
  await createService(rig.ns, 'web');
  for (const [at, name] of workloads.entries()) {
    await createWorkload(rig.ns, name, 'web', { ips: [`192.0.2.${at + 1}`] });
  }
  await rig.see();
}

/** The one slice there is. */
async function slicePath(): Promise<string> {
  const [slice, ...more] = await slicesOf(rig.ns, 'web');
  expect(more).toEqual([]);
  return slicesPath(rig.ns, nameOf(slice ?? {}));
}

/** Does something once, right before the first request of this verb. */
function beforeFirst(verb: string, act: () => Promise<unknown>): void {
  let done = false;
  rig.api.before = async (call) => {
    if (done || call.verb !== verb) return;
    done = true;
    await act();
  };
}

/** The name that the first slice of `web` will get. */
async function nextName(): Promise<string> {
  const key = { namespace: rig.ns, name: 'web' };
  const deps = { api: rig.api, plan: rig.deps.plan };
  const plan = await dryRunService(key, deps, AbortSignal.timeout(10_000));
  rig.api.forget();
  const [write] = plan.writes;
  return write?.verb === 'create' ? write.slice.name : '';
}

describe('somebody else writes the slice between our read and our write', () => {
  test('a changed slice (409): read again, planned again in the same run, no Event (H1, report 37)', async () => {
    await webWith('a');
    await rig.run('web');
    await setReady(rig.ns, 'a', false);
    await rig.see();
    const path = await slicePath();
    beforeFirst('update', () =>
      mergePatch(path, { metadata: { annotations: { 'example.test/note': 'mine' } } }),
    );
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'done', failuresBefore: 0, result: { updated: 1 } });
    expect(rig.events).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(['192.0.2.1 8080 not-ready']);
    const [slice] = await slicesOf(rig.ns, 'web');
    expect(slice?.metadata?.annotations).toHaveProperty(['example.test/note'], 'mine');
  });

  test('a conflict that comes again at every round ends the run quietly, to be tried again (report 37)', async () => {
    await webWith('a');
    await rig.run('web');
    await setReady(rig.ns, 'a', false);
    await rig.see();
    const path = await slicePath();
    let note = 0;
    rig.api.before = async ({ verb }) => {
      if (verb !== 'update') return;
      note += 1;
      await mergePatch(path, { metadata: { annotations: { 'example.test/note': `${note}` } } });
    };
    expect(await rig.run('web')).toMatchObject({ kind: 'retry' });
    expect(note).toBeLessThanOrEqual(10);
    expect(rig.events).toEqual([]);
    rig.api.before = () => undefined;
    expect(await rig.run('web', { read: 'live' })).toMatchObject({ kind: 'done' });
    expect(await endpointsOf(rig.ns, 'web')).toEqual(['192.0.2.1 8080 not-ready']);
  });

  test('a slice that is gone when it is to be updated (404): planned again (H1)', async () => {
    await webWith('a');
    await rig.run('web');
    await setReady(rig.ns, 'a', false);
    await rig.see();
    const path = await slicePath();
    beforeFirst('update', () => remove(path));
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'done', result: { created: 1, updated: 0 } });
    expect(rig.events).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(['192.0.2.1 8080 not-ready']);
  });

  test('a slice that is gone when it is to be deleted (404): success, and no delete is counted (H1, report 38)', async () => {
    await webWith('a');
    await rig.run('web');
    await remove(workloadPath(rig.ns, 'a'));
    await rig.see();
    const path = await slicePath();
    beforeFirst('delete', () => remove(path));
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'done', failuresBefore: 0, result: { deleted: 0 } });
    expect(rig.told).toEqual([]);
    expect(rig.events).toEqual([]);
  });

  test('a new slice under the name that is to be deleted is not hit (H1, report 38)', async () => {
    await webWith('a');
    await rig.run('web');
    await remove(workloadPath(rig.ns, 'a'));
    await rig.see();
    const [old] = await slicesOf(rig.ns, 'web');
    const name = nameOf(old ?? {});
    beforeFirst('delete', async () => {
      await remove(slicesPath(rig.ns, name));
      await apiOk('POST', slicesPath(rig.ns), {
        metadata: {
          name,
          labels: { [LABEL_MANAGED_BY]: 'someone-else' },
        },
        addressType: 'IPv4',
        endpoints: [],
        ports: [],
      });
    });
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { deleted: 0 } });
    const there = (await apiOk('GET', slicesPath(rig.ns, name))) as typeof old;
    expect(there?.metadata?.labels?.[LABEL_MANAGED_BY]).toBe('someone-else');
  });

  test('endpoints that somebody edited are put right by the next run, in the same slice', async () => {
    await webWith('a', 'b');
    await rig.run('web');
    const path = await slicePath();
    await mergePatch(path, { endpoints: [{ addresses: ['192.0.2.99'] }] });
    await rig.see();
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { updated: 1 } });
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 ready',
      '192.0.2.2 8080 ready',
    ]);
  });
});

describe('the name of a create is taken (409 AlreadyExists)', () => {
  test('by our own create whose answer was lost, as after a crash: no double (G4, report 11, 33)', async () => {
    await webWith('a');
    rig.api.after = ({ verb }) => {
      if (verb === 'create') throw new UnreachableError('create', new Error('connection reset'));
    };
    expect(await rig.run('web')).toMatchObject({ kind: 'retry', failure: true });
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    rig.api.after = () => undefined;
    rig.api.forget();
    await rig.forgetDoubt('web');
    // The view knows of no slice: the same create again.
    expect(await rig.run('web')).toMatchObject({ kind: 'done', failuresBefore: 1 });
    expect(rig.api.writes()).toHaveLength(1);
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(['192.0.2.1 8080 ready']);
  });

  test('by our own create from before a change: that slice is brought up to date (report 11)', async () => {
    await webWith('a');
    rig.api.after = ({ verb }) => {
      if (verb === 'create') throw new UnreachableError('create', new Error('connection reset'));
    };
    await rig.run('web');
    rig.api.after = () => undefined;
    await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.2'] });
    await rig.see(['workload']);
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { updated: 1 } });
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(1);
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 ready',
      '192.0.2.2 8080 ready',
    ]);
  });

  test.each([
    ['somebody else’s slice', { [LABEL_MANAGED_BY]: 'someone-else', [LABEL_SERVICE_NAME]: 'web' }],
    ['a slice without labels', {}],
  ])('by %s: another name is used, and the other is left alone (G4)', async (_what, labels) => {
    await webWith('a');
    const name = await nextName();
    await apiOk('POST', slicesPath(rig.ns), {
      metadata: {
        name,
        labels,
      },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    });
    const before = await apiOk('GET', slicesPath(rig.ns, name));
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'done', result: { created: 1 } });
    expect(rig.events).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(['192.0.2.1 8080 ready']);
    expect(await apiOk('GET', slicesPath(rig.ns, name))).toEqual(before);
    // And from now on nothing more is to do.
    rig.api.forget();
    await rig.run('web');
    expect(rig.api.calls).toEqual([]);
  });

  test('by one of ours that is going away but cannot yet: another name is used (B4, G4, report 27)', async () => {
    await webWith('a');
    await rig.run('web');
    const path = await slicePath();
    await mergePatch(path, { metadata: { finalizers: ['example.test/hold'] } });
    await remove(path);
    // The view has neither the finalizer nor the deletion, nor has it the slice any more.
    await rig.punchHole('slice', path.split('/').at(-1) ?? '');
    expect(await rig.run('web')).toMatchObject({ kind: 'done', result: { created: 1 } });
    const usable = (await slicesOf(rig.ns, 'web')).filter(
      ({ metadata }) => metadata?.deletionTimestamp === undefined,
    );
    expect(usable).toHaveLength(1);
    await mergePatch(path, { metadata: { finalizers: null } });
  });
});
