import { describe, expect, test } from '@jest/globals';
import { describeError } from '../../core/errors.ts';
import type { ReflectorState } from '../../watcher/reflector.ts';
import { eventually } from '../support/eventually.ts';
import { blackHole, cut, html, lines, refuse, silence } from '../support/misbehaviours.ts';
import type { Behaviour } from '../support/misbehaviours.ts';
import { reflectorRig } from '../support/reflector-rig.ts';

const rig = reflectorRig();
const lastError = () => rig.reflector.health().lastError ?? '';
const retries = () =>
  rig.sink.states.filter(
    (state): state is Extract<ReflectorState, { kind: 'retrying' }> => state.kind === 'retrying',
  );

const trouble: readonly (readonly [string, Behaviour, RegExp])[] = [
  ['401', refuse(401, { reason: 'Unauthorized' }), /401 Unauthorized/],
  ['429', refuse(429, { reason: 'TooManyRequests' }), /429 TooManyRequests/],
  ['500', refuse(500, { reason: 'InternalError' }), /500 InternalError/],
  ['a 502 page of a proxy', html(502), /502: .*not JSON \(text\/html\).*Please log in/],
  ['a cut connection', cut, /closed by the other side|reset by the other side/],
];

describe.each(trouble)('%s', (_name, behaviour, reason) => {
  test('for a list is retried until the list comes through', async () => {
    rig.api.put('a');
    rig.api.next('list', behaviour, behaviour, behaviour);
    rig.start();
    await rig.sees('a');
    expect(lastError()).toMatch(/^list things: /);
    expect(lastError()).toMatch(reason);
    expect(rig.reflector.health().restarts).toBe(3);
  });

  test('for a watch is retried from the same version, without a list', async () => {
    rig.api.next('watch', behaviour);
    rig.start();
    await rig.watching();
    rig.api.put('a');
    await rig.sees('a');
    expect(lastError()).toMatch(/^watch things: /);
    expect(lastError()).toMatch(reason);
    expect(rig.api.seen('list')).toHaveLength(1);
  });
});

test('403 names the verb and the resource, and a granted right is noticed', async () => {
  const message = 'things.test is forbidden: User "u" cannot watch resource "things"';
  rig.api.always('watch', refuse(403, { reason: 'Forbidden', message }));
  rig.start();
  await eventually(() => expect(retries().length).toBeGreaterThan(2));
  expect(lastError()).toBe(`watch things: 403 Forbidden: ${message}`);
  expect(rig.api.seen('list')).toHaveLength(1);
  rig.api.always('watch', undefined);
  rig.api.put('a');
  await rig.sees('a');
});

test('a page of HTML with status 200 is told in one line, and retried', async () => {
  rig.api.next('list', html(200));
  rig.api.put('a');
  rig.start();
  await rig.sees('a');
  expect(lastError()).toMatch(/^list things: .*answered 200 with not JSON.*Please log in/);
  expect(lastError()).not.toContain('\n');
});

test('damaged JSON is never quoted: it may be a piece of a Secret', async () => {
  rig.api.next('watch', lines('{"type":"ADDED","object":{"data":{"token":"c2VjcmV0"'));
  rig.start();
  await eventually(() => expect(lastError()).toContain('damaged or cut JSON'));
  expect(lastError()).not.toContain('c2VjcmV0');
});

test('a server that echoes our token does not bring it into an error (leak)', async () => {
  rig.api.next('list', refuse(500, { message: 'you sent Bearer test-token, why?' }));
  rig.start();
  await rig.watching();
  expect(lastError()).toContain('you sent Bearer [redacted], why?');
});

test('Retry-After is obeyed, and the watch begins at the list (report 89)', async () => {
  rig.api.next('list', refuse(429, { reason: 'TooManyRequests' }, { 'retry-after': '1' }));
  rig.api.put('a');
  rig.start();
  await rig.watching();
  const [first, second] = rig.api.seen('list').map(({ at }) => at);
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(999);
  const [watch] = rig.api.seen('watch');
  expect(watch?.query.get('resourceVersion')).toBe(rig.api.currentVersion);
});

test('a nonsensical Retry-After does not put the kind out of sight for days', async () => {
  rig.api.next('list', refuse(429, {}, { 'retry-after': '99999999' }));
  rig.start();
  await eventually(() => expect(retries()).toHaveLength(1));
  expect(retries()[0]?.nextTryMs).toBeLessThanOrEqual(330_000);
});

describe('a kind that is not served', () => {
  test('is waited for, and works once it appears', async () => {
    rig.api.served = false;
    rig.start({ kindPoll: { baseMs: 10, capMs: 20 } });
    await eventually(() => expect(rig.api.seen('list').length).toBeGreaterThan(3));
    // Polling is no news: one state, one line in the log.
    expect(rig.sink.stateKinds).toEqual(['listing', 'waiting-for-kind']);
    expect(lastError()).toContain('is its CRD installed?');
    rig.api.served = true;
    rig.api.put('a');
    await rig.sees('a');
    expect(rig.reflector.health().restarts).toBe(0);
  });

  test('because its CRD was deleted under a watch is waited for as well', async () => {
    rig.api.put('a');
    rig.start({ kindPoll: { baseMs: 10, capMs: 20 } });
    await rig.watching();
    rig.api.served = false;
    rig.api.next('watch', refuse(404, { reason: 'NotFound' }));
    rig.api.endWatches('abruptly');
    await eventually(() => expect(rig.sink.stateKinds).toContain('waiting-for-kind'));
    rig.api.remove('a');
    rig.api.served = true;
    await rig.sees();
    expect(rig.sink.vanished).toEqual(['a']);
  });
});

describe('silence', () => {
  test('on an open watch (half-open connection) is noticed (report 85)', async () => {
    rig.api.next('watch', silence);
    rig.start({ idleMs: 100 });
    await eventually(() => expect(rig.sink.stateKinds).toContain('retrying'));
    expect(lastError()).toMatch(/silent for 0.1 s, not even a bookmark/);
    rig.api.put('a');
    await rig.sees('a');
  });

  test('instead of an answer is noticed, for a watch', async () => {
    rig.api.next('watch', blackHole);
    rig.start({ idleMs: 100 });
    await rig.watching();
    expect(lastError()).toMatch(/^watch things: /);
  });

  test('is broken by bookmarks: a quiet kind is not cut', async () => {
    rig.start({ idleMs: 300 });
    await rig.watching();
    for (let n = 1; n <= 8; n += 1) {
      rig.api.bookmark(String(1000 + n));
      await eventually(() => expect(rig.reflector.health().resourceVersion).toBe(String(1000 + n)));
      await eventually(() => expect(rig.reflector.health().lastContactMs).toBeGreaterThan(80));
    }
    expect(rig.api.seen('watch')).toHaveLength(1);
  });
});

describe('the backoff', () => {
  test('grows while nothing works, up to its cap', async () => {
    rig.api.always('list', refuse(500));
    rig.start({ backoff: { baseMs: 8, capMs: 64 }, random: () => 0 });
    await eventually(() => expect(retries().length).toBeGreaterThanOrEqual(6));
    const delays = retries().slice(0, 6);
    expect(delays.map(({ nextTryMs }) => nextTryMs)).toEqual([4, 8, 16, 32, 32, 32]);
    expect(delays.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('is not forgotten by a list that works while the watch does not (report 90)', async () => {
    rig.api.always('watch', refuse(410, { reason: 'Expired' }));
    rig.start({ random: () => 0 });
    await eventually(() => expect(retries().length).toBeGreaterThanOrEqual(4));
    expect(
      retries()
        .map(({ attempt }) => attempt)
        .slice(0, 4),
    ).toEqual([1, 2, 3, 4]);
  });

  test('is not forgotten by watches that end at once, cleanly (report 90)', async () => {
    rig.api.always('watch', lines());
    rig.start({ random: () => 0 });
    await eventually(() => expect(retries().length).toBeGreaterThanOrEqual(4));
    expect(
      retries()
        .map(({ attempt }) => attempt)
        .slice(0, 4),
    ).toEqual([1, 2, 3, 4]);
  });

  test('of an outage is not that of a server which answers again (report 90)', async () => {
    rig.api.always('watch', cut);
    rig.start({ backoff: { baseMs: 8, capMs: 60_000 }, random: () => 0 });
    await eventually(() => expect(retries().length).toBeGreaterThanOrEqual(5));
    rig.api.always('watch', refuse(410, { reason: 'Expired' }));
    await eventually(() => expect(retries().at(-1)?.reason).toContain('410'));
    const cuts = () => retries().filter(({ reason }) => !reason.includes('410'));
    const unanswered = cuts();
    const steps = [4, 8, 16, 32, 64, 128, 256, 512];
    expect(unanswered.map(({ nextTryMs }) => nextTryMs)).toEqual(steps.slice(0, unanswered.length));
    expect(retries()[unanswered.length]?.nextTryMs).toBe(4);
    // Taking turns makes nothing faster.
    rig.api.always('watch', cut);
    await eventually(() => expect(cuts().length).toBeGreaterThan(unanswered.length));
    expect(cuts()[unanswered.length]?.nextTryMs).toBe(steps[unanswered.length]);
  });

  test('is never longer than 5 s while nobody answers', async () => {
    rig.api.always('list', cut);
    rig.start({ backoff: { baseMs: 60_000, capMs: 60_000 }, random: () => 0 });
    await eventually(() => expect(retries()).toHaveLength(1));
    expect(retries()[0]?.nextTryMs).toBe(2_500);
  });

  test.each([502, 503, 504])(
    'is that of an outage for a %i, whatever it asks for',
    async (code) => {
      rig.api.always('list', refuse(code, {}, { 'retry-after': '60' }));
      rig.start({ unreachableCapMs: 500, random: () => 0 });
      await eventually(() => expect(retries().length).toBeGreaterThanOrEqual(2));
      expect(
        retries()
          .map(({ nextTryMs }) => nextTryMs)
          .slice(0, 2),
      ).toEqual([500, 500]);
    },
  );

  test('is forgotten after a watch that stood for a while', async () => {
    rig.api.next('watch', refuse(500), refuse(503));
    rig.start({ healthyMs: 100 });
    await rig.watching();
    const opened = performance.now();
    await eventually(() => expect(performance.now() - opened).toBeGreaterThan(150));
    rig.api.endWatches('abruptly');
    await eventually(() => expect(retries()).toHaveLength(3));
    expect(retries().map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
  });

  test('is forgotten after a watch that brought news', async () => {
    rig.api.next('watch', refuse(500), refuse(503));
    rig.start();
    await rig.watching();
    rig.api.put('a');
    await rig.sees('a');
    rig.api.endWatches('abruptly');
    await eventually(() => expect(retries()).toHaveLength(3));
    expect(retries().map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
  });
});

test('errors are one line each, whatever the server sends', async () => {
  rig.api.next('list', refuse(500, { message: 'a\nb\tc'.repeat(1000) }));
  rig.start();
  await rig.watching();
  expect(describeError(lastError())).not.toMatch(/[\n\t]/);
  expect(lastError().length).toBeLessThan(1100);
});
