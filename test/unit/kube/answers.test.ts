import { describe, expect, test } from '@jest/globals';
import {
  describeGarbage,
  errorOfEvent,
  excerpt,
  failureOfAnswer,
  parseRetryAfter,
} from '../../../platform/kube/answers.ts';

describe('an error answer', () => {
  test('that is a Status gives reason, message, causes and the pause asked for', () => {
    const body = JSON.stringify({
      kind: 'Status',
      reason: 'Invalid',
      message: 'two\nlines',
      details: {
        retryAfterSeconds: 3,
        causes: [{ reason: 'FieldValueInvalid', field: 'spec.ports', message: 'no' }, null, 'x'],
      },
    });
    expect(failureOfAnswer(422, 'application/json', undefined, body)).toEqual({
      status: 422,
      reason: 'Invalid',
      message: 'two lines',
      causes: [{ reason: 'FieldValueInvalid', field: 'spec.ports', message: 'no' }],
      retryAfterMs: 3000,
    });
  });

  test('that is a page of HTML is one line, of its first 80 printable characters', () => {
    const page = `<html>\r\n\u0000<h1>Bad Gateway</h1>${'nginx '.repeat(100)}`;
    const { message } = failureOfAnswer(502, 'text/html', undefined, page);
    expect(message).toMatch(
      /^not JSON \(text\/html\), is this an API server\? It begins: "<html> <h1>/,
    );
    expect(message.length).toBeLessThan(160);
    expect(message).toMatch(/^[\x20-\x7e…]+$/);
  });

  test('that is a redirect says that it is not followed', () => {
    const { message } = failureOfAnswer(302, 'text/html', undefined, '<a href="https://evil">');
    expect(message).toContain('not followed');
    expect(message).not.toContain('evil');
  });

  test('that is empty says so', () => {
    expect(failureOfAnswer(500, '', 1000, '')).toMatchObject({
      message: 'an empty body where JSON was expected',
      retryAfterMs: 1000,
    });
  });
});

test('nothing that looks like a credential is quoted', () => {
  const token = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IkFBQUFBQUFBQUFBQUFBQUFBQUEifQ.eyJzdWIiOiJ4In0.c2ln';
  expect(excerpt(`you sent ${token}`)).toBe('you sent […]');
  expect(describeGarbage(`{"data":{"kubeconfig":"${token}`, 'application/json')).toBe(
    'damaged or cut JSON (102 characters)',
  );
});

test('Retry-After is seconds or a date', () => {
  const now = Date.parse('2026-11-30T12:00:00Z');
  expect(parseRetryAfter('7', now)).toBe(7000);
  expect(parseRetryAfter('Mon, 30 Nov 2026 12:00:05 GMT', now)).toBe(5000);
  expect(parseRetryAfter('Mon, 30 Nov 2026 11:00:00 GMT', now)).toBe(0);
  expect(parseRetryAfter('soon', now)).toBeUndefined();
  expect(parseRetryAfter(undefined, now)).toBeUndefined();
});

test('an ERROR event without a Status is an error all the same', () => {
  expect(errorOfEvent('watch things', { kind: 'Pod' }).message).toContain('not a Status');
  const gone = errorOfEvent('watch things', { kind: 'Status', code: 410, reason: 'Expired' });
  expect(gone.status).toBe(410);
});
