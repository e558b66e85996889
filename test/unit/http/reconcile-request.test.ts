import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { InvalidInputError } from '../../../core/errors.ts';
import { silentLogger } from '../../../core/logger.ts';
import { parseReconcileRequest } from '../../../core/reconcile-request.ts';
import { createGate } from '../../../platform/http/bearer-gate.ts';
import { MAX_BODY_BYTES, type HttpRequest } from '../../../platform/http/exchange.ts';
import { admitReconcile } from '../../../platform/http/reconcile-request.ts';

function complaint(text: string): InvalidInputError {
  try {
    parseReconcileRequest(text);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
  throw new Error(`no complaint about ${text}`);
}

describe('the body of a request', () => {
  test('names a kind and a key', () => {
    const key = { namespace: 'shop', name: 'web.v2' };
    expect(parseReconcileRequest('{"kind":"service","key":"shop/web.v2"}')).toEqual({
      kind: 'service',
      key,
    });
    expect(parseReconcileRequest(' {"key":"shop/web.v2", "kind":"cluster"}\n').kind).toBe(
      'cluster',
    );
  });

  test.each([
    ['', 'body', /^the body is no JSON: send \{/],
    ['hello', 'body', /^the body is no JSON/],
    ['{"kind":"service","key":"a/b"', 'body', /^the body is no JSON/],
    ['null', 'body', /^one object is expected/],
    ['["service","a/b"]', 'body', /^one object is expected/],
    ['"a/b"', 'body', /^one object is expected/],
    ['{}', 'kind', /^kind is missing: it is "service" or "cluster"$/],
    ['{"key":"a/b"}', 'kind', /^kind is missing/],
    ['{"kind":"Service","key":"a/b"}', 'kind', /not "Service"$/],
    ['{"kind":7,"key":"a/b"}', 'kind', /not a number$/],
    ['{"kind":"service"}', 'key', /^key is missing: write it as NAMESPACE\/NAME$/],
    ['{"kind":"service","key":"web"}', 'key', /^"web" is not a key/],
    ['{"kind":"service","key":"A/b"}', 'key', /is not a key/],
    ['{"kind":"service","key":["a/b"]}', 'key', /key must be text/],
    ['{"kind":"service","key":"a/b","token":"x"}', 'token', /^unknown field "token"/],
    ['{"kind":"service","key":"a/b","__proto__":{}}', '__proto__', /^unknown field "__proto__"/],
  ])('%j is refused with one line', (text, field, message) => {
    const error = complaint(text);
    expect([error.field, error.message]).toEqual([field, expect.stringMatching(message)]);
    expect(error.message).not.toContain('\n');
  });

  test('that is no JSON is not quoted: it may be anything', () => {
    expect(complaint('password=hunter2').message).not.toContain('hunter2');
    const long = complaint(JSON.stringify({ kind: 'service', key: 'x'.repeat(3_000) }));
    expect(long.message.length).toBeLessThan(250);
  });

  test('never leads to anything but a request or a complaint', () => {
    const text = fc.oneof(fc.string(), fc.json());
    fc.assert(
      fc.property(text, (given) => {
        try {
          expect(parseReconcileRequest(given)).toMatchObject({ kind: expect.any(String) });
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidInputError);
        }
      }),
    );
  });
});

describe('a request is admitted', () => {
  const gate = createGate({ flag: 'trigger-token', token: 's3cret' }, silentLogger);
  const right: HttpRequest = {
    method: 'POST',
    path: '/v1/reconcile',
    query: '',
    authorization: 'Bearer s3cret',
    contentType: 'application/json',
    body: '{"kind":"service","key":"shop/web"}',
  };

  test('with token, type and body', () => {
    for (const contentType of ['application/json', 'Application/JSON; charset=utf-8']) {
      const asked = { kind: 'service', key: { namespace: 'shop', name: 'web' } };
      expect(admitReconcile({ ...right, contentType }, gate)).toEqual({ asked });
    }
  });

  test.each<[string, Partial<HttpRequest>, number, string]>([
    ['by another method', { method: 'GET' }, 405, 'MethodNotAllowed'],
    ['without a token', { authorization: undefined }, 401, 'Unauthorized'],
    ['with another token', { authorization: 'Bearer other' }, 401, 'Unauthorized'],
    ['without a type', { contentType: undefined }, 415, 'UnsupportedMediaType'],
    [
      'as a form',
      { contentType: 'application/x-www-form-urlencoded' },
      415,
      'UnsupportedMediaType',
    ],
    ['as something like JSON', { contentType: 'application/jsonp' }, 415, 'UnsupportedMediaType'],
    ['with too long a body', { body: null }, 413, 'ContentTooLarge'],
    ['with a wrong body', { body: '{}' }, 400, 'BadRequest'],
  ])('not %s', (_, over, status, code) => {
    const admitted = admitReconcile({ ...right, ...over }, gate);
    if (!('refused' in admitted)) throw new Error('it was admitted');
    const { refused } = admitted;
    expect([refused.status, JSON.parse(refused.body)]).toEqual([
      status,
      { error: expect.stringMatching(/\S/), code },
    ]);
  });

  test('without a token learns nothing of what else is wrong', () => {
    const wrong = { ...right, authorization: undefined, contentType: undefined, body: null };
    const admitted = admitReconcile(wrong, gate);
    expect('refused' in admitted && admitted.refused.status).toBe(401);
  });

  test('with a body of as many bytes as its key may have', () => {
    const key = `${'n'.repeat(63)}/${'s'.repeat(253)}`;
    const body = JSON.stringify({ kind: 'service', key });
    expect(body.length).toBeLessThan(MAX_BODY_BYTES);
    expect('asked' in admitReconcile({ ...right, body }, gate)).toBe(true);
  });
});
