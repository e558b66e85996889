import { describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { blackHole, cut, held, refuse } from '../support/misbehaviours.ts';
import { reflectorRig } from '../support/reflector-rig.ts';

const rig = reflectorRig();

describe('relist', () => {
  test('delivers the whole list anew before it resolves', async () => {
    rig.api.put('a');
    rig.start();
    await rig.watching();
    rig.sink.cache.clear();
    await rig.reflector.relist('the view was lost');
    expect(rig.sink.names).toEqual(['a']);
    await rig.watching();
    expect(rig.api.seen('list')).toHaveLength(2);
  });

  test('asked for many times during a list is one list, after that one', async () => {
    rig.api.put('a');
    const gate = held();
    rig.api.next('list', gate.behaviour);
    rig.start();
    await eventually(() => expect(rig.api.seen('list')).toHaveLength(1));
    const asked = [1, 2, 3].map((n) => rig.reflector.relist(`reason ${n}`));
    gate.release();
    await Promise.all(asked);
    await rig.watching();
    expect(rig.sink.listed).toHaveLength(2);
    expect(rig.api.seen('list')).toHaveLength(2);
  });

  test('goes on being wanted when its list fails', async () => {
    rig.start();
    await rig.watching();
    rig.api.next('list', refuse(500), cut);
    await rig.reflector.relist('test');
    expect(rig.sink.listed).toHaveLength(2);
  });

  test('rejects when the loop is stopped instead', async () => {
    rig.api.always('list', blackHole);
    rig.start();
    const asked = rig.reflector.relist('test');
    const rejected = expect(asked).rejects.toThrow('the process is stopping');
    await rig.reflector.stop();
    await rejected;
    await expect(rig.reflector.relist('too late')).rejects.toThrow('the process is stopping');
  });
});

describe('a consumer that throws', () => {
  test('at an event costs a list, never the loop', async () => {
    rig.start();
    await rig.watching();
    rig.sink.onEventHook = (_type, object) => {
      if (object.metadata.name === 'poison') throw new Error('cannot take this');
    };
    rig.api.put('poison');
    rig.api.put('b');
    await rig.sees('b', 'poison');
    const health = rig.reflector.health();
    expect(health.sinkErrors).toBe(1);
    expect(health.lastError).toContain('cannot take this');
    expect(rig.api.seen('list')).toHaveLength(2);
  });

  test('at a page or a complete list gets the list again', async () => {
    rig.api.put('a');
    let failures = 2;
    const fail = (): void => {
      failures -= 1;
      if (failures >= 0) throw new Error('Redis is down');
    };
    rig.sink.onPageHook = fail;
    rig.sink.onListedHook = fail;
    rig.start();
    await rig.sees('a');
    expect(rig.sink.abandoned).toBe(2);
    expect(rig.reflector.health().lastError).toContain('Redis is down');
  });

  test('all the time is called less and less often', async () => {
    rig.api.put('a');
    rig.sink.onPageHook = () => {
      throw new Error('always');
    };
    rig.start({ random: () => 0 });
    await eventually(() => expect(rig.reflector.health().restarts).toBeGreaterThanOrEqual(5));
    const delays = rig.sink.states.flatMap((state) =>
      'nextTryMs' in state ? state.nextTryMs : [],
    );
    expect(delays.slice(0, 5)).toEqual([5, 10, 20, 40, 50]);
  });

  test('at a state or the end of a batch is only counted', async () => {
    rig.sink.onState = () => {
      throw new Error('no states');
    };
    rig.sink.onBatchEnd = () => {
      throw new Error('no batches');
    };
    rig.start();
    rig.api.put('a');
    await rig.sees('a');
    rig.api.put('b');
    await rig.sees('a', 'b');
    expect(rig.reflector.health().sinkErrors).toBeGreaterThan(0);
    expect(rig.api.seen('list')).toHaveLength(1);
  });
});
