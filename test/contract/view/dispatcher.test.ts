import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ApiObject } from '../../../core/api-objects.ts';
import { LABEL_SERVICE_NAME } from '../../../core/names.ts';
import { formatKey } from '../../../core/object-key.ts';
import { projectSlice } from '../../../core/project.ts';
import type { Add } from '../../../platform/redis/queue/work-queue.ts';
import { removalOf, upsertOf } from '../../../watcher/change-of.ts';
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

/** A slice of `web`, as the events of its short life show it. */
function sliceAt(resourceVersion: string) {
  const metadata = {
    namespace: NS,
    name: 'web-ew-1',
    uid: 'uid-of-it',
    resourceVersion,
    labels: { [LABEL_SERVICE_NAME]: 'web' },
  };
  return { metadata, addressType: 'IPv4', endpoints: [], ports: [] } as const;
}

describe('an object that came and went within one batch', () => {
  const key = { namespace: NS, name: 'web' };

  test('dirties the Service of a slice that a run under way has made (A4)', async () => {
    await f.put('service', service('web', 1));
    await f.sync();
    await settleAll();
    await f.view.acquire(key, 'run', 60_000, true);

    dispatcher.push(NS, upsertOf('slice', sliceAt('5')), 0);
    dispatcher.push(NS, removalOf('slice', sliceAt('6')), 0);
    dispatcher.flush();

    await eventually(async () => expect(await pending()).toEqual(['web']));
    await f.view.finish(key, 'run', 'ok', [projectSlice(sliceAt('5'))], []);
    expect(await f.writer.names(NS, 'slice')).toEqual([]);
    expect(await pending()).toEqual(['web']);
  });

  test('dirties the Services that selected a workload, as a run may have seen it (A2)', async () => {
    await f.put('service', service('web', 1));
    const gone: ApiObject = {
      metadata: { name: 'vm', uid: 'uid-vm', resourceVersion: '6', labels: { app: 'web' } },
    };
    const applied = await f.writer.apply(NS, [removalOf('workload', gone)]);
    expect(applied.dirty).toEqual([{ service: 'web', why: 'workload' }]);
  });

  test('dirties once, however many watchers tell of it', async () => {
    const changes = [removalOf('slice', sliceAt('6'))];
    expect((await f.writer.apply(NS, changes)).dirty).toHaveLength(1);
    expect((await f.writer.apply(NS, changes)).dirty).toEqual([]);
  });

  test('dirties nothing where a run has recorded that it deleted the object (A4)', async () => {
    await f.view.acquire(key, 'run', 60_000, true);
    await f.view.finish(key, 'run', 'ok', [], [projectSlice(sliceAt('5'))]);
    expect((await f.writer.apply(NS, [removalOf('slice', sliceAt('6'))])).dirty).toEqual([]);
  });
});

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
