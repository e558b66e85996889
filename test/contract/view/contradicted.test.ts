import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Encoded, Kind } from '../../../core/codec.ts';
import {
  NS,
  openFixture,
  service,
  slice,
  sliceRecord,
  workload,
  type ViewFixture,
} from './fixture.ts';

/** By which versions the view knew better than what it was given. */
let view: ViewFixture;
beforeEach(() => {
  view = openFixture();
});
afterEach(() => view.close());

async function contradicted(kind: Kind, ...objects: readonly Encoded[]): Promise<string> {
  const changes = objects.map((object) => ({ op: 'upsert' as const, kind, object }));
  return (await view.writer.apply(NS, changes)).contradicted;
}

describe('the view contradicts', () => {
  it('an older version of an object, by its own version', async () => {
    await view.put('service', service('web', 900));
    expect(await contradicted('service', service('web', 700))).toBe('900');
  });

  it('by the oldest of its versions, if there are several', async () => {
    await view.put('workload', workload('a', 95));
    await view.put('workload', workload('b', 9));
    await view.put('workload', workload('c', 100));
    const older = [workload('a', 2), workload('b', 2), workload('c', 2)];
    expect(await contradicted('workload', ...older)).toBe('9');
  });

  it('an object from before its deletion, by the version of that', async () => {
    await view.put('service', service('web', 700));
    await view.remove('service', 'web', '900', 'uid-web');
    expect(await contradicted('service', service('web', 700))).toBe('900');
  });

  it('a newer version of an object that is known to be deleted', async () => {
    await view.put('service', service('web', 700));
    await view.remove('service', 'web', '900', 'uid-web');
    expect(await contradicted('service', service('web', 1_000_000_801))).toBe('900');
  });
});

describe('the view does not contradict', () => {
  it('what it does not know, what it has already, and what is newer', async () => {
    await view.put('service', service('web', 5));
    const given = [service('other', 1), service('web', 5), service('web', 6)];
    expect(await contradicted('service', ...given)).toBe('');
  });

  it('a slice that a run deleted meanwhile, in the version that it deleted', async () => {
    await view.sync();
    await view.view.acquire({ namespace: NS, name: 'web' }, 'token', 10_000, true);
    const key = { namespace: NS, name: 'web' };
    await view.view.finish(key, 'token', 'ok', [], [sliceRecord('web-1', 7, 'web')]);
    expect(await contradicted('slice', slice('web-1', 7, 'web'))).toBe('');
    expect(await contradicted('slice', slice('web-1', 6, 'web'))).toBe('7');
  });

  it('an object that came later, under the name of a deleted one', async () => {
    await view.put('service', service('web', 5));
    await view.remove('service', 'web', '6', 'uid-web');
    expect(await contradicted('service', service('web', 7, { uid: 'uid-2' }))).toBe('');
  });
});
