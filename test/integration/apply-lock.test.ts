import { describe, expect, test } from '@jest/globals';
import { LockLostError, OverdueError, ShutdownError } from '../../core/errors.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  slicesOf,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';
import { keysOf } from '../support/redis.ts';

const rig = reconcileRig();

/** A Service with two workloads in one slice, one of which is to move into a slice of its own. */
async function aMoveOfTwoWrites(): Promise<void> {
  await createService(rig.ns, 'web', {
    spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  });
  await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.1'] });
  await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.2'] });
  await rig.see();
  await rig.run('web');
  const ports = [{ name: 'http', port: 9090, protocol: 'TCP' }];
  await mergePatch(workloadPath(rig.ns, 'b'), { spec: { ports } });
  await rig.see();
  rig.api.forget();
}

const verbs = (): (string | undefined)[] => rig.api.writes().map((line) => line.split(' ')[0]);

const AFTER_THE_MOVE = ['192.0.2.1 8080 ready', '192.0.2.2 9090 ready'];

/** Does something once, right after the first write. */
function afterFirstWrite(act: () => Promise<void> | void): void {
  let done = false;
  rig.api.after = async ({ verb }) => {
    if (done || verb === 'read' || verb === 'list') return;
    done = true;
    await act();
  };
}

describe('the lock is lost between two writes (queue 2, report 103, 106)', () => {
  test('nothing more is written, nothing is recorded, nobody is blamed', async () => {
    await aMoveOfTwoWrites();
    afterFirstWrite(async () => {
      await rig.stealLock('web');
      // Longer than an answer of Redis is trusted.
      rig.skew += 300;
    });
    const outcome = await rig.run('web');
    expect(verbs()).toEqual(['create']);
    expect(outcome).toMatchObject({
      kind: 'retry',
      failure: false,
      error: expect.any(LockLostError),
    });
    expect(rig.told).toContain('lock-lost');
    expect(rig.events).toEqual([]);
    for (const { metadata } of await slicesOf(rig.ns, 'web')) {
      const recorded = await rig.recorded(metadata?.name ?? '');
      if (recorded === null) continue;
      // What the view has is from before.
      expect(metadata?.resourceVersion).toBe(recorded.split('\n')[0]);
    }
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(2);
  });

  test('the run that follows ends what was begun', async () => {
    await aMoveOfTwoWrites();
    afterFirstWrite(async () => {
      await rig.stealLock('web');
      rig.skew += 300;
    });
    await rig.run('web');
    await rig.redis.del(await lockName());
    expect(await rig.run('web')).toMatchObject({ kind: 'done', failuresBefore: 0 });
    expect(await endpointsOf(rig.ns, 'web')).toEqual(AFTER_THE_MOVE);
  });

  test('while it is held elsewhere a run does nothing and comes again soon, not as a failure', async () => {
    await aMoveOfTwoWrites();
    await rig.stealLock('web');
    const outcome = await rig.run('web');
    expect(outcome).toMatchObject({ kind: 'retry', failure: false, afterMs: 200 });
    expect(rig.api.calls).toEqual([]);
  });

  test('two runs at once from the same old state, the lock of the first lost: the result is right', async () => {
    await aMoveOfTwoWrites();
    let second: Promise<unknown> = Promise.resolve();
    rig.api.before = async ({ verb }) => {
      if (verb !== 'create') return;
      rig.api.before = () => undefined;
      // The first stands still here for longer than its lock lasts.
      await rig.redis.del(await lockName());
      second = rig.run('web');
      await second;
    };
    await rig.run('web');
    await second;
    await rig.see();
    await rig.run('web');
    expect(await endpointsOf(rig.ns, 'web')).toEqual(AFTER_THE_MOVE);
    expect(await slicesOf(rig.ns, 'web')).toHaveLength(2);
  });
});

describe('the process is being stopped', () => {
  test('the run ends before its next write, and is no failure', async () => {
    await aMoveOfTwoWrites();
    const stopping = new AbortController();
    afterFirstWrite(() => stopping.abort(new ShutdownError()));
    const outcome = await rig.run('web', {}, stopping.signal);
    expect(verbs()).toEqual(['create']);
    expect(outcome).toMatchObject({ kind: 'retry', failure: false });
    expect(rig.events).toEqual([]);
    // What was written is known: the next run goes on from there.
    expect(await rig.run('web')).toMatchObject({ kind: 'done', failuresBefore: 0 });
    expect(verbs()).toEqual(['create', 'update']);
    expect(rig.api.reads()).toEqual([]);
    expect(await endpointsOf(rig.ns, 'web')).toEqual(AFTER_THE_MOVE);
  });

  test('a run that has not begun to write does not begin', async () => {
    await aMoveOfTwoWrites();
    const outcome = await rig.run('web', {}, AbortSignal.abort(new ShutdownError()));
    expect(outcome).toMatchObject({ kind: 'retry', failure: false });
    expect(rig.api.calls).toEqual([]);
  });

  test.each([
    ['the process stops', new ShutdownError()],
    ['its time is over', new OverdueError(30_000)],
  ])('a request under way is given up at once when %s, and it is no failure', async (_, why) => {
    await aMoveOfTwoWrites();
    const stopping = new AbortController();
    rig.api.before = () => stopping.abort(why);
    const outcome = await rig.run('web', { read: 'live' }, stopping.signal);
    expect(outcome).toMatchObject({ kind: 'retry', failure: false });
    expect(rig.api.writes()).toEqual([]);
  });
});

async function lockName(): Promise<string> {
  const [name] = await keysOf(rig.redis, `*${rig.prefix}:${rig.ns}}:lock:web`);
  return name ?? '';
}
