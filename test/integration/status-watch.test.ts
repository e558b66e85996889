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

/** `tether status --watch` on a terminal of its own, and all that it has written there. */
function onTerminal(env: Readonly<Record<string, string>> = {}) {
  // util-linux' script: a terminal for one command.
  const command = [process.execPath, BIN, ...WATCH].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: {
      ...process.env,
      KUBECONFIG: fromRun('kubeconfig'),
      TETHER_REDIS_URL: fromRun('redisUrl'),
      ...env,
    },
  });
  let seen = '';
  child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
  after.push(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  return {
    press: (key: string) => void child.stdin.write(key),
    seen: () => seen,
    drawn: () => eventually(() => expect(seen.split('\u001b[H').length).toBeGreaterThan(2)),
    ended: async (): Promise<unknown[]> => {
      const [code, signal] = (await exited) as unknown[];
      await eventually(() => expect(child.stdout.readableEnded).toBe(true));
      return [code, signal];
    },
  };
}

it('has a page of its own on a terminal, which q takes away again', async () => {
  const { press, seen, drawn, ended } = onTerminal();
  await drawn();
  expect(seen()).toMatch(/^.*QUEUE +WAITING /m);
  press('q');
  expect(await ended()).toEqual([0, null]);
  expect(seen().startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
  expect(seen().trimEnd().endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
});

it('takes its page away before it says that it failed', async () => {
  const fail = `(key) => { if (String(key) === '!') throw Error('on purpose'); }`;
  const code = encodeURIComponent(`process.stdin.on('data', ${fail})`);
  const module = `data:text/javascript,${code}`;
  const { press, seen, drawn, ended } = onTerminal({ NODE_OPTIONS: `--import=${module}` });
  await drawn();
  press('!');
  expect(await ended()).toEqual([1, null]);
  const [page = '', afterwards = ''] = seen().split('\u001b[?1049l');
  expect(page).not.toContain('on purpose');
  expect(afterwards).toMatch(/^tether: a fault of Tether itself: .*on purpose/);
});
