import { expect, test } from '@jest/globals';
import { ApiError, UnreachableError } from '../../core/errors.ts';
import type { LogFields } from '../../core/logger.ts';
import { silentLogger } from '../../core/logger.ts';
import {
  createEventSink,
  REPEAT_EVERY_MS,
  type EventInput,
  type EventResult,
} from '../../platform/kube/events.ts';

interface Stored {
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
  message: string;
  metadata: { name: string };
}

/** Stores Events as an API server does, and can be told to fail. */
function fakeCluster() {
  const stored = new Map<string, Stored>();
  const calls: string[] = [];
  let failure: Error | null = null;
  const answer = <T>(call: string, act: () => T): Promise<T> => {
    calls.push(call);
    return failure ? Promise.reject(failure) : Promise.resolve().then(act);
  };
  const refuse = (status: number, reason: string) =>
    new ApiError('events', { status, reason, message: reason, causes: [] });
  const found = (path: string): Stored => {
    const event = stored.get(path);
    if (!event) throw refuse(404, 'NotFound');
    return event;
  };
  const client = {
    create: <T>(path: string, body: unknown): Promise<T> =>
      answer('create', () => {
        const event = body as Stored;
        const at = `${path}/${event.metadata.name}`;
        if (stored.has(at)) throw refuse(409, 'AlreadyExists');
        stored.set(at, { ...event });
        return event as T;
      }),
    get: <T>(path: string): Promise<T> => answer('get', () => found(path) as T),
    patch: <T>(path: string, body: unknown): Promise<T> =>
      answer('patch', () => Object.assign(found(path), body) as T),
  };
  return {
    client,
    calls,
    stored,
    fail: (error: Error | null) => void (failure = error),
    refuse,
    only: (): Stored => {
      const [event] = stored.values();
      if (!event || stored.size !== 1) throw new Error(`${stored.size} events`);
      return event;
    },
  };
}

function eventOf(name: string, message = 'ip 127.0.0.1 is refused'): EventInput {
  const regarding = {
    apiVersion: 'v1',
    kind: 'Service',
    namespace: 'ns',
    name,
    uid: `uid-${name}`,
  };
  return { regarding, type: 'Warning', reason: 'AddressRefused', message };
}

function setUp(more: { maxQueue?: number; maxKnown?: number } = {}) {
  const cluster = fakeCluster();
  const clock = { ms: Date.parse('2026-01-01T00:00:00Z') };
  const results: EventResult[] = [];
  const warnings: string[] = [];
  const sinkFor = (component: string) =>
    createEventSink({
      client: cluster.client,
      component,
      log: {
        ...silentLogger,
        warn: (_: LogFields, message: string) => void warnings.push(message),
      },
      now: () => clock.ms,
      observe: (result) => void results.push(result),
      ...more,
    });
  return { ...cluster, clock, results, warnings, sink: sinkFor('tether'), sinkFor };
}

test('an Event is created once; repeats within ten minutes cost nothing', async () => {
  const { sink, calls, only } = setUp();
  for (let time = 0; time < 5; time++) sink.emit(eventOf('a'));
  await sink.flush();
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(calls).toEqual(['create']);
  expect(only()).toMatchObject({
    type: 'Warning',
    reason: 'AddressRefused',
    message: 'ip 127.0.0.1 is refused',
    involvedObject: { kind: 'Service', name: 'a', uid: 'uid-a' },
    source: { component: 'tether' },
    count: 5,
    firstTimestamp: '2026-01-01T00:00:00Z',
  });
});

test('after ten minutes a repeat patches the count, with those that were not told', async () => {
  const { sink, calls, only, clock } = setUp();
  sink.emit(eventOf('a'));
  await sink.flush();
  sink.emit(eventOf('a'));
  clock.ms += REPEAT_EVERY_MS;
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(calls).toEqual(['create', 'get', 'patch']);
  expect(only()).toMatchObject({ count: 3, lastTimestamp: '2026-01-01T00:10:00Z' });
});

test('two processes share one Event, and its ten minutes', async () => {
  const { sinkFor, calls, only, clock } = setUp();
  const [one, other] = [sinkFor('tether'), sinkFor('tether')];
  one.emit(eventOf('a'));
  await one.flush();
  clock.ms += 60_000;
  other.emit(eventOf('a'));
  await other.flush();
  expect(calls).toEqual(['create', 'create', 'get']);
  clock.ms += REPEAT_EVERY_MS;
  other.emit(eventOf('a'));
  await other.flush();
  expect(only()).toMatchObject({ count: 3, lastTimestamp: '2026-01-01T00:11:00Z' });
});

test('other words, another object: another Event', async () => {
  const { sink, stored } = setUp();
  sink.emit(eventOf('a'));
  sink.emit(eventOf('a', 'ip ::1 is refused'));
  sink.emit(eventOf('b'));
  await sink.flush();
  expect(stored.size).toBe(3);
});

test('an Event that the API server forgot is created anew', async () => {
  const { sink, stored, clock, only } = setUp();
  sink.emit(eventOf('a'));
  await sink.flush();
  stored.clear();
  clock.ms += REPEAT_EVERY_MS;
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(only().count).toBe(1);
});

test('a name of 253 characters and a long message fit', async () => {
  const { sink, only } = setUp();
  sink.emit(eventOf(`${'a'.repeat(235)}.${'b'.repeat(17)}`, 'x'.repeat(5000)));
  await sink.flush();
  expect(only().metadata.name).toMatch(/^a{235}\.[0-9a-f]{16}$/);
  expect(only().message).toHaveLength(1024);
});

test('no right to write: one warning that says which, and no attempt for ten minutes', async () => {
  const { sink, calls, warnings, fail, refuse, clock, results, stored } = setUp();
  fail(refuse(403, 'Forbidden'));
  sink.emit(eventOf('a'));
  sink.emit(eventOf('b'));
  await sink.flush();
  clock.ms += REPEAT_EVERY_MS - 1;
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(calls).toHaveLength(2);
  expect(warnings).toEqual([expect.stringContaining('allow get, create and patch on events')]);
  expect(results).toEqual(['failed', 'failed']);
  fail(null);
  clock.ms += REPEAT_EVERY_MS;
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(stored.size).toBe(1);
});

test('a server that cannot be reached is tried again after half a minute', async () => {
  const { sink, fail, clock, calls, only } = setUp();
  fail(new UnreachableError('create events', new Error('away')));
  sink.emit(eventOf('a'));
  await sink.flush();
  fail(null);
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(calls).toHaveLength(1);
  clock.ms += 30_000;
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(only().count).toBe(3);
});

test('a namespace that is being deleted is nobody’s fault: quiet', async () => {
  const { sink, warnings, fail } = setUp();
  const causes = [{ reason: 'NamespaceTerminating', field: '', message: '' }];
  fail(new ApiError('create events', { status: 403, reason: 'Forbidden', message: '', causes }));
  sink.emit(eventOf('a'));
  await sink.flush();
  expect(warnings).toEqual([]);
});

test('when more come than go out, the oldest give way, and are counted', async () => {
  const { sink, stored, results, warnings } = setUp({ maxQueue: 2 });
  for (const name of ['a', 'b', 'c', 'd']) sink.emit(eventOf(name));
  await sink.flush();
  expect(results).toEqual(['dropped', 'dropped', 'created', 'created']);
  expect([...stored.keys()].map((path) => path.at(path.indexOf('events/') + 7))).toEqual([
    'c',
    'd',
  ]);
  expect(warnings).toHaveLength(1);
});

test('what is remembered is bounded; a forgotten Event is not doubled', async () => {
  const { sink, calls, stored } = setUp({ maxKnown: 1 });
  for (const name of ['a', 'b', 'a']) {
    sink.emit(eventOf(name));
    await sink.flush();
  }
  expect(calls).toEqual(['create', 'create', 'create', 'get']);
  expect(stored.size).toBe(2);
});
