import { describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import type { Change } from '../../platform/redis/view/view-writer.ts';
import type { Dispatcher } from '../../watcher/dispatcher.ts';
import { KindSink, type CompleteList } from '../../watcher/kind-sink.ts';

type Names = ReadonlyMap<string, readonly string[]>;

/** A sink of Services, with what it brought into the view, and told of its lists. */
function openSink(known: () => Promise<Names>) {
  const applied: Change[] = [];
  const lists: CompleteList[] = [];
  const view = { round: 1, contradicted: '' };
  const dispatcher: Pick<Dispatcher, 'apply'> = {
    apply: async (_namespace, changes) => {
      applied.push(...changes);
      return { accepted: changes.length, contradicted: view.contradicted };
    },
  };
  const sink = new KindSink({
    kind: 'service',
    dispatcher: dispatcher as Dispatcher,
    accepts: () => true,
    known,
    round: () => view.round,
    events: { push: () => undefined, flush: () => undefined, stop: () => undefined },
    now: () => 0,
    onListed: async (list) => void lists.push(list),
    log: silentLogger,
    onState: () => undefined,
  });
  const removed = (): string[] =>
    applied.flatMap((change) => (change.op === 'remove' ? [change.name] : []));
  return { sink, removed, lists, view };
}

const WEB = { metadata: { namespace: 'shop', name: 'web', resourceVersion: '5' } };
const VIEW: Names = new Map([['shop', ['web', 'gone']]]);

describe('a complete list', () => {
  test('removes what the view has and the list has not (A5)', async () => {
    const { sink, removed } = openSink(() => Promise.resolve(VIEW));
    await sink.onPage([WEB]);
    await sink.onListed('9');
    expect(removed()).toEqual(['gone']);
  });

  test('removes nothing when the watcher is stopped while it asks what the view has', async () => {
    const answer = Promise.withResolvers<Names>();
    const { sink, removed } = openSink(() => answer.promise);
    await sink.onPage([WEB]);
    const listed = sink.onListed('9');
    sink.onListAbandoned();
    answer.resolve(VIEW);
    await listed;
    expect(removed()).toEqual([]);
  });

  test('says nothing about a view that came in doubt while it was under way', async () => {
    const { sink, removed, lists, view } = openSink(() => Promise.resolve(VIEW));
    await sink.onPage([WEB]);
    view.round += 1;
    await sink.onListed('9');
    expect([removed(), lists]).toEqual([[], []]);
    await sink.onPage([WEB]);
    await sink.onListed('10');
    expect([removed(), lists.map(({ round }) => round)]).toEqual([['gone'], [2]]);
  });

  test.each([
    ['none', '', false],
    ['an older one', '8', true],
    ['the same', '9', true],
    ['a newer one: another watcher is ahead', '10', false],
  ])(
    'of version 9 is contradicted by the version of the view that refused an object: %s',
    async (_which, version, contradicted) => {
      const { sink, lists, view } = openSink(() => Promise.resolve(VIEW));
      view.contradicted = version;
      await sink.onPage([WEB]);
      view.contradicted = version === '' ? '' : '11';
      await sink.onPage([WEB]);
      await sink.onListed('9');
      view.contradicted = '';
      await sink.onPage([WEB]);
      await sink.onListed('12');
      expect(lists.map((list) => list.contradicted)).toEqual([contradicted, false]);
    },
  );

  test('does not tell what the watch saw of a history that is over', async () => {
    const { sink, lists } = openSink(() => Promise.resolve(VIEW));
    sink.onEvent('MODIFIED', WEB);
    await sink.onListed('9');
    sink.onEvent('MODIFIED', WEB);
    sink.forget();
    await sink.onListed('10');
    expect(lists.map(({ seenBefore }) => seenBefore)).toEqual(['5', '']);
  });
});
