import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { formatKey } from '../../../core/object-key.ts';
import type { Add } from '../../../platform/redis/queue/work-queue.ts';
import { Dispatcher } from '../../../watcher/dispatcher.ts';
import { createSweeper } from '../../../watcher/sweeper.ts';
import { eventually } from '../../support/eventually.ts';
import { toldQueue } from '../../support/told-queue.ts';
import { notedLog, type NotedLog } from '../redis/noted.ts';
import { NS, openFixture, service, workload, type ViewFixture } from './fixture.ts';

let f: ViewFixture;
let log: NotedLog;
let dispatcher: Dispatcher;
/** What was enqueued: key and reason. */
let added: string[];

beforeEach(() => {
  f = openFixture();
  log = notedLog();
  added = [];
  const onAdd = ({ key, reason }: Add): void => void added.push(`${formatKey(key)}: ${reason}`);
  dispatcher = new Dispatcher({
    writer: () => f.writer,
    queue: toldQueue(onAdd),
    log,
    random: () => 0,
    now: () => 0,
    onRefused: () => undefined,
    onNamespace: () => Promise.resolve(),
  });
});
afterEach(async () => {
  await dispatcher.stop();
  await f.close();
});

async function pending(): Promise<string[]> {
  return (await f.writer.overdue(NS, 0)).dirty.map(({ service: name }) => name);
}

async function settleAll(): Promise<void> {
  const { score } = await f.writer.overdue(NS, 0);
  await f.writer.settle(NS, score, await pending());
  expect(await pending()).toEqual([]);
}

describe('a sweep', () => {
  beforeEach(async () => {
    await f.put('service', service('web', 1));
    await settleAll();
    await f.put('workload', workload('vm', 2));
  });

  test('says what it enqueued, and that nobody knows of what change', async () => {
    dispatcher.openGate();
    expect(await dispatcher.sweep(NS, 0)).toBe(1);
    expect(added).toEqual([`${NS}/web: left pending`]);
    await eventually(async () => expect(await pending()).toEqual([]));
  });

  test('of a gate that is shut enqueues nothing, and does not claim to', async () => {
    const swept: number[] = [];
    const sweeper = createSweeper({
      sweep: async (namespace) => {
        const count = await dispatcher.sweep(namespace, 0);
        swept.push(count);
        return count;
      },
      namespaces: () => Promise.resolve([]),
      log,
    });
    try {
      sweeper.later(NS);
      await eventually(() => expect(swept).toEqual([0]));
      expect([added, log.lines]).toEqual([[], []]);
      expect(await pending()).toEqual(['web']);

      dispatcher.openGate();
      sweeper.later(NS);
      await eventually(() => expect(log.lines.join()).toContain('enqueued keys that were left'));
      expect(added).toHaveLength(1);
    } finally {
      sweeper.stop();
    }
  });
});
