import { describe, expect, test } from '@jest/globals';
import { UnreachableError } from '../../core/errors.ts';
import { eventually } from '../support/eventually.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig, refusal } from '../support/reconcile-rig.ts';

const rig = reconcileRig();
const OLD = { name: 'http', port: 8080, protocol: 'TCP' };
const NEW = { name: 'http', port: 7070, protocol: 'TCP' };
const BOTH = ['192.0.2.1 8080 ready', '192.0.2.2 8080 ready'];

const listenOn = (workload: string, port: typeof OLD) =>
  mergePatch(workloadPath(rig.ns, workload), { spec: { ports: [port] } });

/** Two workloads in one slice; then one moves to a slice of another port. */
async function oneMoves(): Promise<void> {
  await createService(rig.ns, 'web', {
    spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  });
  for (const [name, ip] of [
    ['a', '192.0.2.1'],
    ['b', '192.0.2.2'],
  ] as const) {
    await createWorkload(rig.ns, name, 'web', { ips: [ip], ports: [OLD] });
  }
  await rig.see();
  await rig.run('web');
  expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
  await listenOn('b', NEW);
  await rig.see();
  rig.api.forget();
}

/** The update that takes the workload out of its former slice is made, and ends so for the worker. */
async function updateEndsIn(error: Error): Promise<void> {
  rig.api.after = ({ verb }) => {
    if (verb === 'update') throw error;
  };
  expect(await rig.run('web')).toMatchObject({ kind: 'retry', failure: true });
  rig.api.after = () => undefined;
  expect(rig.api.writes()).toHaveLength(2);
}

describe('a write that was made, but whose answer was lost (H2)', () => {
  test.each([
    ['no answer', new UnreachableError('update', new Error('the connection was closed'))],
    ['504', refusal(504, { reason: 'Timeout' })],
  ])('no endpoint is missed by who comes before its echo: %s', async (_, error) => {
    await oneMoves();
    await updateEndsIn(error);
    // The workload is as before; the view still has the former slice with it.
    await listenOn('b', OLD);
    await rig.see(['workload']);
    rig.api.forget();
    let missed = false;
    rig.api.after = async () => {
      missed ||= (await endpointsOf(rig.ns, 'web')).length < 2;
    };
    await rig.run('web');
    expect(missed).toBe(false);
    expect(rig.told).toContain('not-in-sync');
    expect(await endpointsOf(rig.ns, 'web')).toEqual(BOTH);
  });

  test('its key is free again once the lock runs out, where Redis was gone as well', async () => {
    await oneMoves();
    const { deps } = rig;
    const away = (): Promise<never> => Promise.reject(new Error('Connection is closed.'));
    rig.deps = { ...deps, view: { ...deps.view, doubt: away, finish: away } };
    await updateEndsIn(new UnreachableError('update', new Error('the connection was closed')));
    rig.deps = deps;
    await eventually(async () => expect(await rig.run('web')).toMatchObject({ kind: 'done' }));
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 ready',
      '192.0.2.2 7070 ready',
    ]);
  });

  test('a refusal is an answer: the view stays trusted', async () => {
    await oneMoves();
    rig.api.before = ({ verb }) => {
      if (verb === 'update') throw refusal(500);
    };
    expect(await rig.run('web')).toMatchObject({ kind: 'retry' });
    rig.api.before = () => undefined;
    rig.api.forget();
    await rig.run('web');
    expect(rig.api.reads()).toEqual([]);
  });
});
