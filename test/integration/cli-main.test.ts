import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runTether } from '../support/processes.ts';

const BIN = join(import.meta.dirname, '../../cli/bin.js');

test('--help goes to stdout, exit code 0', async () => {
  const { code, stdout, stderr } = await runTether(['--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('reconcile');
});

test('each wrong option is a line, exit code 2, and nothing was done', async () => {
  const { code, stdout, stderr } = await runTether(['worker', '--concurrency', 'x'], {
    env: { TETHER_LOG_FORMAT: 'xml' },
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe(
    'tether: --concurrency "x": expected a whole number from 1 to 1000\n' +
      'tether: TETHER_LOG_FORMAT "xml": expected one of auto, json, pretty\n',
  );
});

test('an unknown command is a line, exit code 2', async () => {
  const { code, stderr } = await runTether(['explian', 'a/b']);
  expect(code).toBe(2);
  expect(stderr).toBe(
    "tether: unknown command 'explian' (Did you mean explain?); see tether --help\n",
  );
});

test('a reader that has seen enough is no error', async () => {
  const child = spawn('sh', ['-c', `"${process.execPath}" "${BIN}" --help | true; echo done`]);
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.resume();
  await once(child, 'close');
  expect(stderr).toBe('');
});

/** Another Node of this machine, where there is one: the clone is often started by it. */
const OLD_NODE = ['/usr/local/bin/node', '/usr/bin/node'].find((path) => existsSync(path));

(OLD_NODE === undefined ? test.skip : test)('any Node starts the one of the clone', async () => {
  // No Redis is configured, and none is recorded there.
  const child = spawn(OLD_NODE ?? '', [BIN, 'lookup'], { cwd: tmpdir() });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(1);
  expect(stderr).toMatch(/^tether: no Redis is configured: [^\n]*\n$/);
});
