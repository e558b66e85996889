import { expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/logger.ts';
import type { ReconcileRequest } from '../../../core/reconcile-request.ts';
import { createHttpFunction } from '../../../functions/http.ts';
import { createLambdaHandler, type LambdaHttpEvent } from '../../../functions/lambda.ts';
import { createGate } from '../../../platform/http/bearer-gate.ts';
import { jsonAnswer, refusal, type HttpAnswer } from '../../../platform/http/exchange.ts';

const runs: ReconcileRequest[] = [];
const runner = {
  run: (asked: ReconcileRequest) => {
    runs.push(asked);
    return Promise.resolve(jsonAnswer(200, { outcome: 'done' }));
  },
};
const gate = createGate({ flag: 'trigger-token', token: 's3cret' }, silentLogger);
const counted: number[] = [];
const answered = (code: number): void => void counted.push(code);
const http = createHttpFunction({ runner, gate, health: () => ({ ok: true }), answered });
const guarded = createLambdaHandler(() => Promise.resolve({ runner, http }));
const open = createLambdaHandler(() => Promise.resolve({ runner, http: null }));

/** As API Gateway and function URLs send it, payload format 2.0. */
const event = (over: Partial<LambdaHttpEvent> = {}): LambdaHttpEvent => ({
  version: '2.0',
  rawPath: '/',
  rawQueryString: '',
  headers: { 'content-type': 'application/json', authorization: 'Bearer s3cret' },
  requestContext: { http: { method: 'POST' } },
  body: '{"kind":"service","key":"shop/web"}',
  isBase64Encoded: false,
  ...over,
});

test('an event over HTTP is a request, and its answer has the shape of Lambda', async () => {
  runs.splice(0);
  expect(await guarded(event())).toEqual({
    statusCode: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: '{"outcome":"done"}\n',
  });
  const encoded = Buffer.from('{"kind":"cluster","key":"tether/east"}').toString('base64');
  await guarded(event({ body: encoded, isBase64Encoded: true, rawPath: '/v1/reconcile' }));
  expect(runs).toEqual([
    { kind: 'service', key: { namespace: 'shop', name: 'web' } },
    { kind: 'cluster', key: { namespace: 'tether', name: 'east' } },
  ]);
});

test.each<[string, string, number]>([
  ['prod', '/prod/v1/reconcile', 200],
  ['prod', '/prod/', 200],
  ['prod', '/prod', 200],
  ['prod', '/production/v1/reconcile', 404],
  ['prod', '/v1/reconcile', 200],
  ['v1', '/v1/v1/reconcile', 200],
  ['$default', '/v1/reconcile', 200],
])('of the stage %s, %s is %i', async (stage, rawPath, status) => {
  const requestContext = { stage, http: { method: 'POST' } };
  expect(await guarded(event({ rawPath, requestContext }))).toMatchObject({ statusCode: status });
});

test.each<[string, unknown, number]>([
  ['without the token', event({ headers: { 'content-type': 'application/json' } }), 401],
  ['with another method', event({ requestContext: { http: { method: 'PUT' } } }), 405],
  ['of another path', event({ rawPath: '/admin' }), 404],
  ['without a type', event({ headers: { authorization: 'Bearer s3cret' } }), 415],
  ['that is too long', event({ body: 'x'.repeat(5_000) }), 413],
  ['that is no JSON', event({ body: 'shop/web' }), 400],
  ['of another format', { version: '1.0', requestContext: {}, httpMethod: 'POST' }, 405],
  ['with nothing in it', { requestContext: null }, 405],
])('a request %s is refused', async (_, request, status) => {
  runs.splice(0);
  expect(await guarded(request)).toMatchObject({ statusCode: status });
  expect(runs).toEqual([]);
});

test('without a configured token nothing that came over HTTP is run', async () => {
  runs.splice(0);
  const { statusCode, body } = await open(event());
  expect(statusCode).toBe(403);
  expect(JSON.parse(body)).toMatchObject({
    error: expect.stringContaining('TETHER_TRIGGER_TOKEN'),
  });
  expect(runs).toEqual([]);
});

test('a direct invocation is a kind and a key, and needs no token: IAM let it in', async () => {
  runs.splice(0);
  for (const handler of [guarded, open]) {
    expect(await handler({ kind: 'service', key: 'shop/web' })).toMatchObject({ statusCode: 200 });
  }
  expect(runs).toHaveLength(2);
});

const retry = (reason: string) => ({ outcome: 'retry', reason });

test.each<[string, HttpAnswer, string]>([
  ['is put off', jsonAnswer(503, retry('locked elsewhere')), '(503): locked elsewhere'],
  ['takes too long', jsonAnswer(504, retry('not done within 30 s')), '(504): not done within 30 s'],
  ['is one too many', refusal(429, 'TooManyRequests', '64 keys'), '(429): 64 keys'],
  ['meets a fault', refusal(500, 'Internal', 'a fault'), '(500): a fault'],
  ['names a password', jsonAnswer(503, retry('redis://:pa55@h')), '(503): redis://[hidden]@h'],
])(
  'an invocation whose run %s fails directly, and is an answer over HTTP',
  async (_, answer, why) => {
    const busy = { run: () => Promise.resolve(answer) };
    const behind = createHttpFunction({
      runner: busy,
      gate,
      health: () => ({ ok: true }),
      answered,
    });
    const handler = createLambdaHandler(() => Promise.resolve({ runner: busy, http: behind }));
    await expect(handler({ kind: 'service', key: 'shop/web' })).rejects.toThrow(
      `service shop/web is not done ${why}; invoke again`,
    );
    expect(await handler(event())).toMatchObject({ statusCode: answer.status, body: answer.body });
  },
);

test.each<[string, unknown, RegExp]>([
  ['nothing', null, /one object is expected/],
  ['a text', 'shop/web', /one object is expected/],
  ['no key', { kind: 'service' }, /key is missing/],
  ['a field too many', { kind: 'service', key: 'a/b', force: true }, /unknown field "force"/],
])('a direct invocation with %s is 400', async (_, given, error) => {
  const { statusCode, body } = await open(given);
  expect(statusCode).toBe(400);
  expect(JSON.parse(body)).toMatchObject({ error: expect.stringMatching(error) });
});

test('an invocation fails when the function cannot be opened, and the next one tries again', async () => {
  let tries = 0;
  const handler = createLambdaHandler(() => {
    tries += 1;
    if (tries === 1) return Promise.reject(new Error('Redis does not answer'));
    return Promise.resolve({ runner, http });
  });
  await expect(handler({ kind: 'service', key: 'a/b' })).rejects.toThrow('Redis does not answer');
  expect(await handler({ kind: 'service', key: 'a/b' })).toMatchObject({ statusCode: 200 });
});
