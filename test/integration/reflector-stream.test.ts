import { describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { errorLine, held, lines, refuse, silence } from '../support/misbehaviours.ts';
import { reflectorRig } from '../support/reflector-rig.ts';

const rig = reflectorRig();

describe('the first list', () => {
  test('is read in pages, consistently, and the watch begins at its version', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) rig.api.put(name);
    rig.start({ pageSize: 2 });
    await rig.watching();
    expect(rig.sink.pages).toEqual([2, 2, 1]);
    expect(rig.sink.listed).toEqual([rig.api.currentVersion]);
    const [first] = rig.api.seen('list');
    expect(first?.query.has('resourceVersion')).toBe(false);
    const [watch] = rig.api.seen('watch');
    expect(watch?.query.get('resourceVersion')).toBe(rig.api.currentVersion);
    expect(watch?.query.get('allowWatchBookmarks')).toBe('true');
  });

  test('is one page ahead of the consumer, and no more', async () => {
    for (const name of ['a', 'b', 'c']) rig.api.put(name);
    const gate = Promise.withResolvers<void>();
    rig.sink.onPageHook = () => gate.promise;
    rig.start({ pageSize: 1 });
    await eventually(() => expect(rig.api.seen('list')).toHaveLength(2));
    // A third page would be asked for in the same turn as the second one's arrival.
    await rig.client.get('/other', { what: 'get other' });
    expect(rig.api.seen('list')).toHaveLength(2);
    gate.resolve();
    await rig.sees('a', 'b', 'c');
  });

  test('begins anew when a continue token expires between two pages', async () => {
    for (const name of ['a', 'b', 'c']) rig.api.put(name);
    let pages = 0;
    rig.sink.onPageHook = () => {
      pages += 1;
      if (pages !== 1) return;
      rig.api.remove('a');
      rig.api.expireTokens();
    };
    rig.start({ pageSize: 1 });
    await rig.sees('b', 'c');
    expect(rig.sink.abandoned).toBe(1);
    expect(rig.sink.listed).toHaveLength(1);
  });

  test('backs off when continue tokens keep expiring, and comes through in the end', async () => {
    for (const name of ['a', 'b']) rig.api.put(name);
    rig.api.expireTokens(true);
    rig.start({ pageSize: 1 });
    await eventually(() => expect(rig.reflector.health().restarts).toBeGreaterThan(1));
    expect(rig.reflector.health().lastError).toContain('list things: 410 Expired');
    rig.api.expireTokens(false);
    await rig.sees('a', 'b');
  });

  test('of nothing at all is a list', async () => {
    rig.start();
    await rig.watching();
    expect(rig.sink.listed).toEqual([rig.api.currentVersion]);
  });
});

describe('a watch', () => {
  test('delivers events in order, batch by batch', async () => {
    rig.start();
    await rig.watching();
    rig.api.put('a');
    rig.api.put('a', 'changed');
    rig.api.remove('a');
    await eventually(() => expect(rig.sink.events).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a']));
    expect(rig.sink.batches).toBeGreaterThan(0);
  });

  test('that ends cleanly goes on from the last version, without a list', async () => {
    rig.api.put('a');
    rig.start({ watchSeconds: [1, 1] });
    await rig.watching();
    rig.api.put('b');
    await eventually(() => expect(rig.api.seen('watch')).toHaveLength(2));
    await rig.watching();
    expect(rig.api.seen('watch')[1]?.query.get('resourceVersion')).toBe(rig.api.currentVersion);
    expect(rig.api.seen('list')).toHaveLength(1);
    expect(rig.reflector.health().restarts).toBe(0);
  });

  test.each(['mid-line', 'abruptly'] as const)(
    'that is cut %s goes on from the last version, and nothing is lost or told twice',
    async (how) => {
      rig.start();
      await rig.watching();
      rig.api.put('a');
      await rig.sees('a');
      rig.api.endWatches(how);
      rig.api.put('b');
      rig.api.remove('a');
      await rig.sees('b');
      expect(rig.api.seen('list')).toHaveLength(1);
      expect(rig.sink.events).toEqual(['ADDED a', 'ADDED b', 'DELETED a']);
    },
  );

  test('goes on from a bookmark, so that a quiet kind does not fall out of the history', async () => {
    rig.start();
    await rig.watching();
    rig.api.bookmark('5000');
    await eventually(() => expect(rig.reflector.health().resourceVersion).toBe('5000'));
    rig.api.endWatches('abruptly');
    await eventually(() => expect(rig.api.seen('watch')).toHaveLength(2));
    expect(rig.api.seen('watch')[1]?.query.get('resourceVersion')).toBe('5000');
  });

  test('drops what the server sends a hundred times (report 91)', async () => {
    rig.start();
    await rig.watching();
    const object = rig.api.put('a');
    const line = JSON.stringify({ type: 'ADDED', object });
    for (let i = 0; i < 100; i += 1) rig.api.say(line);
    rig.api.put('b');
    await rig.sees('a', 'b');
    expect(rig.sink.events).toEqual(['ADDED a', 'ADDED b']);
    expect(rig.reflector.health().repeats).toBe(100);
  });

  test('keeps characters whole that a chunk cuts in two, and lines that span many chunks', async () => {
    rig.start();
    await rig.watching();
    const value = 'żółć 🦙'.repeat(200_000);
    rig.api.put('long', value);
    await rig.sees('long');
    expect(rig.sink.cache.get('long')?.value).toBe(value);
  });

  test('has a new random length each time', async () => {
    const drawn = [0, 0.5, 0.999];
    rig.start({ random: () => drawn.shift() ?? 0 });
    for (let n = 1; n <= 2; n += 1) {
      await eventually(() => expect(rig.api.seen('watch')).toHaveLength(n));
      await rig.watching();
      rig.api.endWatches('abruptly');
    }
    const [first, second] = rig.api.seen('watch').map(({ query }) => query.get('timeoutSeconds'));
    expect(first).toBe('300');
    expect(Number(second)).toBeGreaterThan(300);
    expect(Number(second)).toBeLessThanOrEqual(600);
  });
});

describe('lost history', () => {
  test.each(['status', 'event'] as const)(
    'told by a 410 as %s brings a list whose difference is delivered (reports 86 and 87)',
    async (how) => {
      rig.api.goneBy = how;
      for (const name of ['a', 'b']) rig.api.put(name);
      const gap = held();
      rig.start();
      await rig.watching();
      rig.api.next('watch', gap.behaviour);
      rig.api.endWatches('abruptly');
      await eventually(() => expect(rig.api.seen('watch')).toHaveLength(2));
      rig.api.remove('a');
      rig.api.put('c');
      rig.api.compact();
      gap.release();
      await rig.sees('b', 'c');
      expect(rig.sink.vanished).toEqual(['a']);
      expect(rig.api.seen('list')).toHaveLength(2);
      await rig.watching();
    },
  );

  test('told by "too large resource version" brings a list', async () => {
    const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
    rig.start();
    await rig.watching();
    rig.api.next('watch', refuse(504, { reason: 'Timeout', causes }));
    rig.api.endWatches('abruptly');
    await eventually(() => expect(rig.api.seen('list')).toHaveLength(2));
    await rig.watching();
  });

  test('told by nothing but silence (a restored server) brings a list', async () => {
    rig.start({ idleMs: 60 });
    await eventually(() => expect(rig.sink.listed).toHaveLength(1));
    rig.api.always('watch', silence);
    rig.api.restoreTo(50);
    await eventually(() => expect(rig.sink.listed.at(-1)).toBe('50'));
    rig.api.always('watch', undefined);
    rig.api.put('a');
    await rig.sees('a');
  });

  test('that a line tells which cannot be read is passed over by a list', async () => {
    rig.start();
    await rig.watching();
    rig.api.always('watch', lines('{"type":"ADDED","object":{"metadata":{"name":"x"}}}'));
    rig.api.endWatches('abruptly');
    await eventually(() => expect(rig.sink.listed.length).toBeGreaterThan(1));
    rig.api.always('watch', undefined);
    rig.api.put('a');
    await rig.sees('a');
  });
});

test('other ERROR events end the watch with their reason, and the loop goes on', async () => {
  rig.start();
  await rig.watching();
  rig.api.say(errorLine(500, 'InternalError', 'etcdserver: leader changed'));
  await eventually(() => expect(rig.reflector.health().lastError).toContain('leader changed'));
  rig.api.put('a');
  await rig.sees('a');
  expect(rig.sink.stateKinds).toContain('retrying');
});

test('an event that comes before a bad line is not lost', async () => {
  rig.start();
  await rig.watching();
  const object = rig.api.put('a');
  await rig.sees('a');
  rig.api.next('watch', lines(JSON.stringify({ type: 'DELETED', object }), 'garbage'));
  rig.api.endWatches('abruptly');
  await eventually(() => expect(rig.sink.events).toContain('DELETED a'));
  await eventually(() => expect(rig.reflector.health().lastError).toContain('no event'));
});
