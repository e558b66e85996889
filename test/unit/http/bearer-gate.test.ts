import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../../core/errors.ts';
import { silentLogger, type Logger } from '../../../core/logger.ts';
import { createGate } from '../../../platform/http/bearer-gate.ts';

const folder = mkdtempSync(join(tmpdir(), 'tether-gate-'));
const file = join(folder, 'token');
const flag = 'some-token';
afterEach(() => rmSync(file, { force: true }));

describe('a gate', () => {
  test('without a token admits everybody', () => {
    const gate = createGate({ flag }, silentLogger);
    expect([gate.guarded, gate.admits(undefined)]).toEqual([false, true]);
  });

  test('with a token admits who brings it, and nobody else', () => {
    const gate = createGate({ flag, token: 's3cret' }, silentLogger);
    expect(gate.guarded).toBe(true);
    for (const right of ['Bearer s3cret', 'bearer s3cret', 'Bearer   s3cret']) {
      expect(gate.admits(right)).toBe(true);
    }
    const wrong = [undefined, '', 'Bearer', 'Bearer ', 'Bearer s3cre', 'Bearer s3cret2', 's3cret'];
    for (const header of [
      ...wrong,
      'Basic s3cret',
      'Bearer s3cret x',
      `Bearer ${'x'.repeat(9_000)}`,
    ]) {
      expect(gate.admits(header)).toBe(false);
    }
  });

  test('with a user wants the token as that user’s password, as browsers send it', () => {
    const gate = createGate({ flag, token: 'pass:wörd', user: 'tether' }, silentLogger);
    const as = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
    expect(gate.admits(as('tether:pass:wörd'))).toBe(true);
    const wrong = ['tether:pass', 'tether:', 'admin:pass:wörd', ':pass:wörd', 'pass:wörd', ''];
    for (const text of wrong) expect(gate.admits(as(text))).toBe(false);
    const headers = [undefined, '', 'Basic', 'Basic ***', 'Bearer pass:wörd', 'tether:pass:wörd'];
    for (const header of headers) expect(gate.admits(header)).toBe(false);
  });

  test('with a file follows it, and keeps the last token while there is none', () => {
    writeFileSync(file, 'one\n');
    const lines: string[] = [];
    const note = (fields: object, message: string): void =>
      void lines.push(message + JSON.stringify(fields));
    const log: Logger = { debug: note, info: note, warn: note, error: note };
    const gate = createGate({ flag, tokenFile: file }, log);
    expect(gate.admits('Bearer one')).toBe(true);
    writeFileSync(file, 'two');
    gate.tick();
    expect([gate.admits('Bearer one'), gate.admits('Bearer two')]).toEqual([false, true]);
    writeFileSync(file, '');
    gate.tick();
    rmSync(file);
    gate.tick();
    gate.tick();
    expect([gate.admits('Bearer two'), gate.admits('Bearer '), lines.length]).toEqual([
      true,
      false,
      1,
    ]);
    expect(lines.join()).not.toContain('two');
  });

  test.each([
    [
      'both ways at once',
      { token: 'a', tokenFile: '/x' },
      /^--some-token-file: --some-token is given too; leave one of them out$/,
    ],
    [
      'a file that is not there',
      { tokenFile: join(folder, 'none') },
      /^--some-token-file: cannot be read: .*ENOENT/,
    ],
  ])('%s is refused at the start', (_, options, message) => {
    expect(() => createGate({ flag, ...options }, silentLogger)).toThrow(InvalidInputError);
    expect(() => createGate({ flag, ...options }, silentLogger)).toThrow(message);
  });

  test('an empty file is refused at the start', () => {
    writeFileSync(file, ' \n');
    expect(() => createGate({ flag, tokenFile: file }, silentLogger)).toThrow(/is empty/);
  });
});
