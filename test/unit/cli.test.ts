import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { InvalidInputError } from '../../core/errors.ts';
import { COMMANDS } from '../../cli/commands.ts';
import { parsePlainly } from '../../cli/plain-command-line.ts';
import { parseCommandLine } from '../../cli/program.ts';
import { duration, textTable } from '../../cli/text-table.ts';
import { withReady } from '../../cli/workload-status.ts';

function parse(line: string) {
  return parseCommandLine(line === '' ? [] : line.split(' '), COMMANDS);
}

function refusal(line: string): string {
  try {
    parse(line);
  } catch (error) {
    if (error instanceof InvalidInputError) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${line}`);
}

test('the fixed commands are all there', () => {
  expect(COMMANDS.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'up',
      'watcher',
      'worker',
      'lookup',
      'reconcile service',
      'reconcile cluster',
      'resync',
      'status',
      'explain',
      'workload ready',
      'workload unready',
      'workload drain',
      'install',
      'uninstall',
      'link',
    ]),
  );
});

describe('a command line is taken apart', () => {
  test('arguments, own flags and options of the configuration', () => {
    const line = 'reconcile service ns/a --wait --dry-run --read live -o json --redis-prefix x';
    expect(parse(line)).toMatchObject({
      command: { name: 'reconcile service' },
      args: { key: 'ns/a' },
      flags: { wait: true, dryRun: true, read: 'live', output: 'json' },
      settings: { redisPrefix: 'x' },
    });
  });

  test('options whose name differs from the flag', () => {
    const line = 'up --drain-seconds 3 --namespaces a,b --request-timeout=5';
    expect(parse(line)).toMatchObject({
      settings: { drainMs: '3', includeNamespaces: 'a,b', requestTimeoutMs: '5' },
    });
  });

  test('nothing given: nothing in it', () => {
    expect(parse('up')).toMatchObject({ args: {}, flags: {}, settings: {} });
  });

  test.each(['--help', 'reconcile --help', 'reconcile service --help', 'up -h'])('%s', (line) => {
    const parsed = parse(line);
    expect('help' in parsed && parsed.help).toContain('Usage: tether');
  });

  test('--version: the release of package.json, and nothing else', () => {
    const file = join(import.meta.dirname, '../../package.json');
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
    expect(parse('--version')).toEqual({ help: version });
  });
});

describe('the short cut past commander', () => {
  test.each([
    'up',
    'up --http-port 1 --log-level debug',
    'worker --concurrency 3 --concurrency 4',
    'watcher --namespaces a,b',
    'resync',
  ])('%s: the same as commander', (line) => {
    const plain = parsePlainly(line.split(' '), COMMANDS);
    expect(plain).not.toBeNull();
    expect(plain).toEqual(parse(line));
  });

  test.each([
    '',
    '--help',
    'up --help',
    'up --http-port',
    'up --http-port --help',
    'up --http-port=1',
    'up 1',
    'status',
    'explain a/b',
    'reconcile service a/b',
    'up --nothing 1',
  ])('%j is left to commander', (line) => {
    expect(parsePlainly(line.split(' '), COMMANDS)).toBeNull();
  });
});

describe('a wrong command line is one sentence with where to look', () => {
  test.each([
    ['', /^no command; see tether --help$/],
    ['sttus', /unknown command 'sttus' \(Did you mean status\?\); see tether --help$/],
    ['reconcile', /^reconcile: which one\? see tether reconcile --help$/],
    ['reconcile servce a/b', /unknown command 'servce'.*; see tether reconcile --help$/],
    [
      'reconcile service',
      /missing required argument 'NS\/NAME'; see tether reconcile service --help/,
    ],
    [
      'up --http-prt 1',
      /unknown option '--http-prt' \(Did you mean --http-port\?\); see tether up --help/,
    ],
    ['up --http-port', /argument missing; see tether up --help/],
    ['status -o yaml', /Allowed choices are text, json.*; see tether status --help/],
    ['install a b', /too many arguments.*; see tether install --help/],
    ['status --concurrency 3', /unknown option '--concurrency'/],
  ])('%j', (line, expected) => {
    expect(refusal(line)).toMatch(expected);
    expect(refusal(line)).not.toContain('\n');
  });
});

describe('the Ready condition', () => {
  const at = '2026-01-01T00:00:00Z';
  const earlier = '2025-01-01T00:00:00Z';
  const ready = { status: 'True', reason: 'SetReady', message: 'm' } as const;

  test('is added beside the others', () => {
    const other = { type: 'Probed', status: 'True' };
    expect(withReady([other], ready, at)).toEqual([
      other,
      { type: 'Ready', ...ready, lastTransitionTime: at },
    ]);
  });

  test('has a new time only when the status flips', () => {
    const before = { type: 'Ready', status: 'True', reason: 'Agent', lastTransitionTime: earlier };
    expect(withReady([before], ready, at)).toEqual([
      { type: 'Ready', ...ready, lastTransitionTime: earlier },
    ]);
    const off = { status: 'False', reason: 'Draining', message: 'm' } as const;
    expect(withReady([before], off, at)).toEqual([
      { type: 'Ready', ...off, lastTransitionTime: at },
    ]);
  });

  test('is not written again when it says so already', () => {
    const same = { type: 'Ready', ...ready, lastTransitionTime: earlier };
    expect(withReady([same], ready, at)).toBeNull();
  });

  test('listed twice is listed once, as the last entry counts', () => {
    const twice = [
      { type: 'Ready', status: 'False', lastTransitionTime: at },
      { type: 'Ready', ...ready, lastTransitionTime: earlier },
    ];
    expect(withReady(twice, ready, at)).toEqual([twice[1]]);
  });
});

test('tables align their columns', () => {
  const table = textTable(
    ['NAME', 'IN'],
    [
      ['long-name', 'yes'],
      ['é', 'no'],
    ],
  );
  expect(table).toBe('NAME       IN\nlong-name  yes\né          no');
});

test.each([
  [999, '999 ms'],
  [61_000, '61 s'],
  [600_000, '10 min'],
  [7_200_000, '2 h'],
])('%d ms is %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
