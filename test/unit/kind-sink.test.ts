import { describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import type { Change } from '../../platform/redis/view/view-writer.ts';
import type { Dispatcher } from '../../watcher/dispatcher.ts';
import { KindSink } from '../../watcher/kind-sink.ts';

type Names = ReadonlyMap<string, readonly string[]>;

/** A sink of Services, with what it brought into the view. */
function openSink(known: () => Promise<Names>) {
  const applied: Change[] = [];
  const dispatcher: Pick<Dispatcher, 'apply'> = {
    apply: async (_namespace, changes) => applied.push(...changes),
  };
  const sink = new KindSink({
    kind: 'service',
    dispatcher: dispatcher as Dispatcher,
    accepts: () => true,
    known,
    events: { push: () => undefined, flush: () => undefined, stop: () => undefined },
    now: () => 0,
    onListed: () => Promise.resolve(),
    log: silentLogger,
    onState: () => undefined,
  });
  const removed = (): string[] =>
    applied.flatMap((change) => (change.op === 'remove' ? [change.name] : []));
  return { sink, removed };
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
});
