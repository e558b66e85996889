import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../../core/errors.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { ReconcileResult } from '../../../core/outcome.ts';
import { createGate } from '../../../platform/http/bearer-gate.ts';
import { startPrivateRedis } from '../../../platform/redis/private-server.ts';
import { connectRedis } from '../../../platform/redis/connect.ts';
import { openQueue, type WorkQueue } from '../../../platform/redis/queue/work-queue.ts';
import { createTriggerMetrics } from '../../../platform/telemetry/metrics/trigger-metrics.ts';
import { createTrigger, type TriggerOptions } from '../../../trigger/trigger.ts';
import { eventually } from '../../support/eventually.ts';
import { openLookupRig, type Looker, type LookupRig } from '../../support/lookup-rig.ts';
import { createAnswerCheck } from '../../support/openapi.ts';
import { openHarness, type QueueHarness } from '../../support/queue-harness.ts';

const PATH = '/v1/reconcile';
const WEB = { kind: 'service', key: 'shop/web' };
const RESULT: ReconcileResult = {
  created: 1,
  updated: 0,
  deleted: 0,
  names: ['web-ew-1'],
  endpoints: 2,
  ready: 1,
  changed: 2,
  slices: 1,
  leftOut: [
    { workload: 'vm', uid: 'u', reason: 'no-address', detail: 'it has no address', warn: true },
  ],
  read: 'live',
};
const check = createAnswerCheck();

let rig: LookupRig;
beforeAll(() => {
  rig = openLookupRig();
});
afterAll(() => rig.close());

let harness: QueueHarness;
let looker: Looker;
let answers: number[];
let stopping: AbortController;
beforeEach(async () => {
  harness = await openHarness();
  looker = await start();
});
afterEach(async () => {
  await looker.close();
  await harness.close();
});

const gate = createGate({ flag: 'trigger-token', token: 'trigger' }, silentLogger);

/** A look-up process that takes triggers; look-ups have another token. */
async function start(over: Partial<TriggerOptions> = {}): Promise<Looker> {
  answers = [];
  stopping = new AbortController();
  const queues = { service: harness.queue, cluster: harness.queue };
  const trigger = createTrigger({
    queues,
    gate,
    log: silentLogger,
    answered: (code) => void answers.push(code),
    stopping: stopping.signal,
    ...over,
  });
  return rig.start({ token: 'lookup', trigger });
}

interface Asked {
  readonly query?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

const RIGHT = { authorization: 'Bearer trigger', 'content-type': 'application/json' };

/** Sends a request; every answer is held against the description. */
async function ask({ query = '', body = JSON.stringify(WEB), ...rest }: Asked = {}) {
  const { headers = RIGHT, method = 'POST', signal } = rest;
  const init = { method, headers: { connection: 'close', ...headers } };
  const response = await fetch(`${looker.url}${PATH}${query}`, {
    ...init,
    ...(method === 'GET' ? {} : { body }),
    ...(signal === undefined ? {} : { signal }),
  });
  const got = (await response.json()) as Readonly<Record<string, unknown>>;
  expect(check.answer(PATH, response.status, got, 'post')).toBe('');
  return { status: response.status, headers: response.headers, body: got };
}

describe('a request with the token', () => {
  test('puts its key into the queue, and is told the id of the job', async () => {
    const { status, body } = await ask();
    expect([status, body]).toEqual([202, { ...WEB, id: expect.any(String) }]);
    const job = `{${harness.prefix}}:service:${String(body['id'])}`;
    const data = await harness.redis.hget(job, 'data');
    expect(JSON.parse(data ?? '')).toMatchObject({
      key: 'shop/web',
      reason: 'asked for over HTTP',
    });
    // First in line, as whatever has no priority.
    expect(await harness.queue.counts()).toMatchObject({ waiting: 1, prioritized: 0 });
    expect(answers).toEqual([202]);
  });

  test('is told what came of it, if it waits', async () => {
    harness.startWorker({ handle: () => Promise.resolve({ kind: 'complete', result: RESULT }) });
    const { status, body } = await ask({ query: '?wait=true' });
    expect(status).toBe(200);
    expect(body).toEqual({ ...WEB, id: expect.any(String), outcome: 'done', result: RESULT });
  });

  test('is told that no retry will help', async () => {
    const error = new InvalidInputError('key', 'there is no such thing');
    harness.startWorker({ handle: () => Promise.resolve({ kind: 'reject', error }) });
    const { status, body } = await ask({ query: '?wait=true' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ outcome: 'terminal', reason: 'there is no such thing' });
  });

  test('is told why it was put off last, when the time is over first', async () => {
    const later = { kind: 'later', delayMs: 60_000, reason: 'a right is missing' } as const;
    harness.startWorker({ handle: () => Promise.resolve(later) });
    const first = await ask();
    const outcome = `{${harness.prefix}}:outcome:service:${String(first.body['id'])}`;
    await eventually(async () => expect(await harness.redis.exists(outcome)).toBe(1));
    const { status, body } = await ask({ query: '?wait=true&timeout=2' });
    expect(status).toBe(202);
    expect(body).toMatchObject({ outcome: 'pending', retries: 1, reason: 'a right is missing' });
  });

  test('is told that no worker took it', async () => {
    const { status, body } = await ask({ query: '?wait=true&timeout=0.1' });
    expect(status).toBe(202);
    expect(body).toMatchObject({
      outcome: 'pending',
      retries: 0,
      reason: 'no worker has taken it, or its run has not ended yet',
    });
  });
});

describe('a request is refused', () => {
  test.each<[number, string, Asked]>([
    [400, 'with a wrong body', { body: '{"kind":"service"}' }],
    [400, 'without a body', { body: '' }],
    [400, 'with a parameter that is not known', { query: '?wait=yes' }],
    [401, 'without a token', { headers: { 'content-type': 'application/json' } }],
    [401, 'with the token of look-ups', { headers: { ...RIGHT, authorization: 'Bearer lookup' } }],
    [405, 'that is a GET', { method: 'GET' }],
    [405, 'that is a PUT', { method: 'PUT' }],
    [413, 'that is too long', { body: JSON.stringify({ ...WEB, more: 'x'.repeat(5_000) }) }],
    [415, 'that is a form', { headers: { ...RIGHT, 'content-type': 'text/plain' } }],
  ])('with %d, %s', async (code, _, asked) => {
    const { status, body } = await ask(asked);
    expect([status, body]).toEqual([
      code,
      { code: expect.stringMatching(/^[A-Z]\w+$/), error: expect.stringMatching(/^[^\n]+$/) },
    ]);
    expect(answers).toEqual([code]);
    expect(await harness.queue.counts()).toMatchObject({ waiting: 0 });
  });

  test('with 404 and a sentence, where triggers are off', async () => {
    await looker.close();
    looker = await rig.start();
    const { status, body } = await ask();
    expect([status, body['code']]).toEqual([404, 'PathNotFound']);
    expect(body['error']).toContain('--trigger-token-file');
  });

  test('with 429, when too many wait in line', async () => {
    await looker.close();
    looker = await start({ mostQueued: 2 });
    expect([(await ask()).status, (await ask()).status]).toEqual([202, 202]);
    const { status, headers } = await ask();
    expect([status, headers.get('retry-after')]).toEqual([429, '1']);
    expect(await harness.queue.counts()).toMatchObject({ waiting: 2 });
  });

  test('with 429, when too many back off, which are first in line again after that', async () => {
    await looker.close();
    looker = await start({ mostQueued: 2 });
    const later = { kind: 'later', delayMs: 60_000, reason: 'a right is missing' } as const;
    harness.startWorker({ handle: () => Promise.resolve(later) });
    expect([(await ask()).status, (await ask()).status]).toEqual([202, 202]);
    await eventually(async () => {
      expect(await harness.queue.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 2 });
    });
    expect((await ask()).status).toBe(429);
    expect(await harness.queue.counts()).toMatchObject({ waiting: 0, delayed: 2 });
  });

  test('with 429, when too many wait for their outcome; without wait it is taken', async () => {
    await looker.close();
    looker = await start({ mostWaiting: 1 });
    const leaving = new AbortController();
    const first = ask({ query: '?wait=true', signal: leaving.signal });
    await eventually(async () => {
      expect(await harness.queue.counts()).toMatchObject({ waiting: 1 });
    });
    expect((await ask({ query: '?wait=true' })).status).toBe(429);
    expect((await ask()).status).toBe(202);
    // Who leaves makes room.
    leaving.abort();
    await expect(first).rejects.toThrow();
    await eventually(async () => {
      expect((await ask({ query: '?wait=true&timeout=0.1' })).status).toBe(202);
    });
  });
});

test('the token of triggers opens no look-up', async () => {
  const trigger = await looker.get('/v1/clusters', { authorization: 'Bearer trigger' });
  const lookup = await looker.get('/v1/clusters', { authorization: 'Bearer lookup' });
  expect([trigger.status, lookup.status]).toEqual([401, 200]);
});

test('whoever waits is let go when the process stops, and the key stays in the queue', async () => {
  const waiting = ask({ query: '?wait=true' });
  await eventually(async () => {
    expect(await harness.queue.counts()).toMatchObject({ waiting: 1 });
  });
  stopping.abort();
  const { status, body } = await waiting;
  expect([status, body['reason']]).toEqual([202, 'the process that was asked is stopping']);
  expect(await harness.queue.counts()).toMatchObject({ waiting: 1 });
});

test('a client that leaves takes its connection to Redis along', async () => {
  const blocked = async (): Promise<number> => {
    const list = String(await harness.redis.call('CLIENT', 'LIST', 'TYPE', 'normal'));
    return list.split('\n').filter((line) => / cmd=xread /.test(line)).length;
  };
  const before = await blocked();
  const leaving = new AbortController();
  const waiting = ask({ query: '?wait=true', signal: leaving.signal });
  await eventually(async () => expect(await blocked()).toBe(before + 1));
  leaving.abort();
  await expect(waiting).rejects.toThrow();
  await eventually(async () => expect(await blocked()).toBe(before));
});

test('answers are counted by their status', async () => {
  await looker.close();
  const { record, families } = createTriggerMetrics();
  looker = await start({ answered: record.answered });
  await ask();
  await ask({ body: '' });
  await ask({ body: '' });
  const text = families.map((family) => family.render()).join('\n');
  expect(text).toContain('tether_triggers_total{code="202"} 1\n');
  expect(text).toMatch(/tether_triggers_total\{code="400"\} 2$/);
});

describe('while Redis is away', () => {
  let queue: WorkQueue;
  let end: () => Promise<void>;
  beforeEach(async () => {
    const server = await startPrivateRedis();
    const log = silentLogger;
    const redis = connectRedis(server.url, 'producer', { log });
    redis.on('error', () => undefined);
    await once(redis, 'ready');
    queue = openQueue({ name: 'service', prefix: 'away', log, redis });
    end = async () => {
      await queue.close();
      redis.disconnect();
    };
    await looker.close();
    looker = await start({ queues: { service: queue, cluster: queue } });
    expect((await ask()).status).toBe(202);
    await server.kill();
  });
  afterEach(() => end());

  test('a request is 503, at once, and told when to come again', async () => {
    await eventually(async () => {
      const { status, headers, body } = await ask();
      expect([status, headers.get('retry-after')]).toEqual([503, '1']);
      expect(body).toMatchObject({ code: 'Unavailable' });
    });
    expect((await ask({ query: '?wait=true' })).status).toBe(503);
    // Look-ups know nothing of it.
    const { status } = await looker.get('/v1/clusters', { authorization: 'Bearer lookup' });
    expect(status).toBe(200);
  });
});
