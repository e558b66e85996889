import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { spawnTether } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

const BIN = join(import.meta.dirname, '../../cli/bin.js');
/** Another install on the same Redis, so that no other test shows up in its status. */
const WATCH = ['status', '--watch', '--redis-prefix', `status-watch-${process.pid}`];

/** Ends what a test that failed has left. */
const after: (() => void)[] = [];
afterEach(() => after.splice(0).forEach((end) => end()));

describe('where its output is no terminal', () => {
  it('prints one JSON document a line with -o json, until it is told to stop', async () => {
    const tether = spawnTether([...WATCH, '-o', 'json']);
    await tether.untilLog(/\n.*\n/);
    expect(await tether.stop()).toMatchObject({ code: 0 });
    const [first = '', second = ''] = tether.stdout().split('\n');
    for (const line of [first, second]) {
      expect(JSON.parse(line)).toMatchObject({ queues: { service: { waiting: 0 } } });
    }
    expect(tether.stderr()).toBe('');
  });

  it('prints one report after the other, each under its time', async () => {
    const tether = spawnTether(WATCH);
    await tether.untilLog(/^\d{4}-\S+Z$[^]*^QUEUE [^]*^\d{4}-\S+Z$/m);
    expect(await tether.stop()).toMatchObject({ code: 0 });
    expect(tether.stdout()).not.toContain('\u001b');
  });
});

it('has a page of its own on a terminal, which q takes away again', async () => {
  // util-linux' script: a terminal for one command.
  const command = [process.execPath, BIN, ...WATCH].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: {
      ...process.env,
      KUBECONFIG: fromRun('kubeconfig'),
      TETHER_REDIS_URL: fromRun('redisUrl'),
    },
  });
  let seen = '';
  child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  after.push(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await eventually(() => expect(seen.split('\u001b[H').length).toBeGreaterThan(2));
  expect(seen).toMatch(/^.*QUEUE +WAITING /m);
  child.stdin.write('q');
  expect(await ended).toEqual([0, null]);
  await eventually(() => expect(child.stdout.readableEnded).toBe(true));
  expect(seen.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  expect(seen.trimEnd().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});
