import { describe, expect, test } from '@jest/globals';
import { InvalidInputError, OverdueError, ShutdownError } from '../../../core/errors.ts';
import { createRunner, type RunnerOptions } from '../../../functions/runner.ts';
import type { HttpAnswer } from '../../../platform/http/exchange.ts';
import type { Disposition, Handle } from '../../../platform/redis/queue/disposition.ts';

const asked = { kind: 'service', key: { namespace: 'shop', name: 'web' } } as const;
const done: Disposition = { kind: 'complete', result: { created: 1 } };
const later = (delayMs: number, reason = 'locked elsewhere'): Disposition => ({
  kind: 'later',
  delayMs,
  reason,
});

function open(service: Handle, over: Partial<RunnerOptions> = {}) {
  return createRunner({
    handles: { service, cluster: () => Promise.resolve(done) },
    deadlineMs: 20_000,
    mostRuns: 4,
    stopping: new AbortController().signal,
    clock: { now: () => 1_000, monotonicMs: () => performance.now() },
    random: () => 0,
    ...over,
  });
}

/** A function that ends its runs like this, one after another. */
function scripted(...endings: Disposition[]) {
  const jobs: Parameters<Handle>[0][] = [];
  const handle: Handle = (job) => {
    jobs.push(job);
    return Promise.resolve(endings[Math.min(jobs.length, endings.length) - 1] ?? done);
  };
  return { jobs, handle };
}

const bodyOf = ({ body }: HttpAnswer): unknown => JSON.parse(body);

describe('what came of a run is answered', () => {
  test('done: 200, with the result', async () => {
    const { handle, jobs } = scripted(done);
    const answer = await open(handle).run(asked);
    const named = { kind: 'service', key: 'shop/web' };
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toEqual({ ...named, outcome: 'done', result: { created: 1 } });
    expect(jobs).toMatchObject([{ key: asked.key, class: 'on-demand', enqueuedAt: 1_000 }]);
  });

  test('refused for good: 200, with the reason, as asking again is of no use', async () => {
    const error = new InvalidInputError('key', 'never');
    const answer = await open(scripted({ kind: 'reject', error }).handle).run(asked);
    expect(answer.status).toBe(200);
    expect(bodyOf(answer)).toMatchObject({ outcome: 'terminal', reason: 'never' });
  });

  test('put off for long: 503 at once, with the reason and when to come again', async () => {
    const { handle, jobs } = scripted(later(30_000, 'a right is missing'));
    const answer = await open(handle, { random: () => 1 }).run(asked);
    expect([answer.status, answer.headers['retry-after'], jobs.length]).toEqual([503, '30', 1]);
    expect(bodyOf(answer)).toMatchObject({ outcome: 'retry', reason: 'a right is missing' });
  });
});

test('a run that is put off for a moment is tried again within the request', async () => {
  const { handle, jobs } = scripted(later(40), later(40), done);
  const answer = await open(handle).run(asked);
  expect([answer.status, jobs.length]).toEqual([200, 3]);
});

test('a key that stays locked is 503 once a dead process would have lost its lock', async () => {
  let now = 0;
  const { handle, jobs } = scripted(later(40));
  const counting: Handle = (job, signal) => {
    now += 500;
    return handle(job, signal);
  };
  const clock = { now: () => 0, monotonicMs: () => now };
  const answer = await open(counting, { clock }).run(asked);
  expect([answer.status, jobs.length]).toEqual([503, 5]);
  expect(bodyOf(answer)).toMatchObject({ reason: 'locked elsewhere' });
});

test('a run that takes too long is 504, and is told to end as by a stop: no failure', async () => {
  const told = Promise.withResolvers<unknown>();
  const hanging: Handle = (_, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        told.resolve(signal.reason);
        resolve(later(0, 'cut'));
      });
    });
  const runner = open(hanging, { deadlineMs: 50 });
  const answer = await runner.run(asked);
  expect(answer.status).toBe(504);
  expect(bodyOf(answer)).toMatchObject({
    outcome: 'retry',
    reason: expect.stringMatching(/^not done within 0.05 s/),
  });
  expect(await told.promise).toBeInstanceOf(OverdueError);
  await runner.idle();
});

test('no run is begun once the time is over', async () => {
  const { handle, jobs } = scripted(later(1_000));
  const runner = open(handle, { deadlineMs: 50 });
  expect((await runner.run(asked)).status).toBe(504);
  await runner.idle();
  expect(jobs).toHaveLength(1);
});

test('requests of one key that come at once are two runs; of more keys than may run, 429', async () => {
  const waiting: (() => void)[] = [];
  const holding: Handle = () =>
    new Promise((resolve) => waiting.push(() => resolve({ kind: 'complete', result: null })));
  const runner = open(holding, { mostRuns: 1 });
  const first = runner.run(asked);
  const other = await runner.run({ ...asked, key: { namespace: 'shop', name: 'other' } });
  expect([other.status, other.headers['retry-after']]).toEqual([429, '1']);
  expect(bodyOf(other)).toMatchObject({ code: 'TooManyRequests' });
  waiting[0]?.();
  expect((await first).status).toBe(200);
  await runner.idle();
});

test('a stop ends runs before their next write, and they say so', async () => {
  const stopping = new AbortController();
  const started = Promise.withResolvers<void>();
  const holding: Handle = (_, signal) =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(later(0, String(signal.reason.message))));
      started.resolve();
    });
  const runner = open(holding, { stopping: stopping.signal });
  const running = runner.run(asked);
  await started.promise;
  stopping.abort(new ShutdownError());
  const answer = await running;
  expect(answer.status).toBe(503);
  expect(bodyOf(answer)).toMatchObject({ reason: 'the process is stopping' });
  await runner.idle();
});
