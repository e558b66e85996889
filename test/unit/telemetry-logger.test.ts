import { describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../core/errors.ts';
import { createJsonLogger, type LoggerOptions } from '../../platform/telemetry/logger.ts';
import { redactFields, redactText } from '../../platform/telemetry/redact.ts';

function capture(level: LoggerOptions['level'] = 'info') {
  const lines: string[] = [];
  const log = createJsonLogger(
    { write: (line) => void lines.push(line) },
    {
      level,
      base: { role: 'worker' },
    },
  );
  return { log, lines };
}

test('a line is one JSON object with level, time, message and fields', () => {
  const { log, lines } = capture();
  log.info({ key: 'ns/a', created: 1, names: ['a-ew-1'] }, 'reconciled');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    role: 'worker',
    key: 'ns/a',
    created: 1,
    names: ['a-ew-1'],
    msg: 'reconciled',
  });
});

test('levels below the chosen one are left out', () => {
  const { log, lines } = capture('warn');
  log.debug({}, 'a');
  log.info({}, 'b');
  log.warn({}, 'c');
  log.error({}, 'd');
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['c', 'd']);
});

test('an error on purpose shows its message and code, any other its stack', () => {
  const own = redactFields({ error: new InvalidInputError('key', 'no key') });
  expect(own).toEqual({ error: { message: 'no key', code: 'InvalidInput' } });
  const bug = redactFields({
    error: new TypeError('x is undefined', { cause: new Error('deep') }),
  });
  expect(bug).toMatchObject({
    error: { message: 'x is undefined', stack: expect.stringContaining('at '), cause: 'deep' },
  });
});

describe('credentials never reach a line', () => {
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl';
  test.each([
    ['redis://user:p4ss@host:6379/0', 'redis://[hidden]@host:6379/0'],
    ['redis://:p@ss:word@host', 'redis://[hidden]@host'],
    ['redis://[user:password@]host[:port]', 'redis://[user:password@]host[:port]'],
    ['Authorization: Bearer abcdefghijkl', 'Authorization: Bearer [hidden]'],
    [`the token ${jwt} expired`, 'the token [hidden] expired'],
    ['client-key-data: LS0tLS1CRUdJTg==', 'client-key-data: [hidden]'],
    ['{"token":"abcd1234"}', '{"token":"[hidden]"}'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----', '[hidden]'],
  ])('%s', (text, clean) => {
    expect(redactText(text)).toBe(clean);
  });

  test('a Secret is named, and nothing else is taken for its name', () => {
    expect(redactFields({ secret: 'tether/cluster-credentials-east' })).toEqual({
      secret: 'tether/cluster-credentials-east',
    });
    for (const secret of ['hunter2', 'aGVsbG8=/x', 'a/b/c', { a: 'b/c' }]) {
      expect(redactFields({ secret })).toEqual({ secret: '[hidden]' });
    }
    expect(redactFields({ token: 'tether/name' })).toEqual({ token: '[hidden]' });
  });

  test('by the name of their field, however deep', () => {
    const fields = {
      kubeconfig: 'apiVersion: v1',
      options: { headers: [{ Authorization: 'x' }], clientKeyData: 'y', name: 'z' },
    };
    expect(redactFields(fields)).toEqual({
      kubeconfig: '[hidden]',
      options: { headers: [{ Authorization: '[hidden]' }], clientKeyData: '[hidden]', name: 'z' },
    });
  });

  test('nor in the message of an error', () => {
    const { log, lines } = capture();
    log.error({ error: new Error('connect redis://:s3cret@host') }, 'redis://:s3cret@host is away');
    expect(lines.join()).not.toContain('s3cret');
  });

  test('what is no credential stays', () => {
    const harmless =
      'reconciled ns/a: 1 created, https://host:6443/api?watch=1, token bucket empty';
    expect(redactText(harmless)).toBe(harmless);
  });
});
