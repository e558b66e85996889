import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appRoutes } from '@bull-board/api/dist/routes.js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { queuePrefix } from '../../core/job.ts';
import { eventually } from '../support/eventually.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { event, openHarness, type QueueHarness } from '../support/queue-harness.ts';

const PASSWORD = 'correct horse battery staple';
const SECRET = 'hunter2-is-in-this-job';

let dir: string;
let file: string;
let harness: QueueHarness;
let queue: Queue;
let refused: string;
let board: Board;
let withoutRedis: TetherProcess;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tether-board-'));
  file = join(dir, 'password');
  writeFileSync(file, `${PASSWORD}\n`);
  harness = await openHarness();
  queue = new Queue('service', {
    connection: harness.redis,
    prefix: queuePrefix(harness.prefix),
    skipVersionCheck: true,
  });
  // A job that no worker takes for one, and which nobody should have put a password into.
  const worker = harness.startWorker();
  const job = await queue.add('reconcile', { key: 'shop/web', password: SECRET });
  refused = job.id ?? '';
  await eventually(async () => expect(await queue.getFailedCount()).toBe(1));
  await worker.drain(0);
  await harness.queue.addEvents([event('shop/db', 'the VM was moved')]);
  // It looks for its Redis for a while, in which others are tested.
  const nowhere = ['board', '--redis-url', 'redis://127.0.0.1:1', '--board-password-file', file];
  withoutRedis = spawnTether(nowhere, { lifetime: 'file' });
  board = await openBoard();
});
afterAll(async () => {
  await queue.close();
  await harness.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Board {
  readonly tether: TetherProcess;
  readonly url: string;
  fetch(
    path: string,
    init?: { method?: string; headers?: Record<string, string> },
  ): Promise<{
    readonly status: number;
    readonly text: string;
    readonly headers: Headers;
  }>;
}

async function openBoard(...args: string[]): Promise<Board> {
  const command = ['board', '--redis-prefix', harness.prefix, '--board-password-file', file];
  return boardOf(spawnTether([...command, ...args], { lifetime: 'file' }));
}

async function boardOf(tether: TetherProcess): Promise<Board> {
  const [, url = ''] = await tether.untilLog(/"boardUrl":"([^"]+)"/);
  return {
    tether,
    url,
    fetch: async (path, { method = 'GET', headers = {} } = {}) => {
      const sent = { authorization: as('tether', PASSWORD), connection: 'close', ...headers };
      const response = await fetch(url + path, { method, headers: sent, redirect: 'manual' });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },
  };
}

function as(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Everything that Bull Board can be asked, by method and path. */
const REQUESTS = appRoutes.api.flatMap(({ method, route }) =>
  [route]
    .flat()
    .flatMap((path) => [method].flat().map((each) => [each.toUpperCase(), path] as const)),
);
/** What of it changes something. */
const CHANGES = REQUESTS.filter(([method]) => method !== 'GET');

function pathOf(route: string): string {
  return route
    .replace(':queueName', 'service')
    .replace(':jobId', refused)
    .replace(':queueStatus', 'failed')
    .replace(':schedulerId', 'none');
}

describe('the board', () => {
  it('shows nothing to whoever has not the password, not even its pages', async () => {
    const wrong = ['', as('tether', 'wrong'), as('admin', PASSWORD), `Bearer ${PASSWORD}`];
    for (const path of ['/', '/api/queues', '/static/favicon.ico', '/nowhere']) {
      for (const authorization of wrong) {
        const { status, headers } = await board.fetch(path, { headers: { authorization } });
        expect([path, authorization, status]).toEqual([path, authorization, 401]);
        expect(headers.get('www-authenticate')).toMatch(/^Basic realm="Tether"/);
      }
    }
    expect((await board.fetch('/')).status).toBe(200);
    expect(board.tether.stdout() + board.tether.stderr()).not.toContain(PASSWORD);
  });

  it('shows both queues, what waits in them and what was refused, with the reason', async () => {
    const { text } = await board.fetch('/api/queues?activeQueue=service');
    const { queues } = JSON.parse(text) as { queues: { name: string; jobs: unknown[] }[] };
    expect(queues).toMatchObject([
      { name: 'service', readOnlyMode: true, counts: { prioritized: 1, failed: 1 } },
      { name: 'cluster', readOnlyMode: true },
    ]);
    expect(queues[0]?.jobs).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          data: expect.objectContaining({ key: 'shop/db', reason: 'the VM was moved' }),
        }),
        expect.objectContaining({
          id: refused,
          data: { key: 'shop/web', password: '(not shown)' },
          failedReason: expect.stringContaining('unknown field "password"'),
        }),
      ]),
    );
  });

  it('shows of a job nothing that is no business of the queue', async () => {
    for (const path of ['/api/queues?activeQueue=service', `/api/queues/service/${refused}`]) {
      const { status, text } = await board.fetch(path);
      expect(status).toBe(200);
      expect(text).not.toContain(SECRET);
    }
  });

  it('shows neither schedulers nor logs, which hold whatever somebody put there', async () => {
    const template = { name: 'reconcile', data: { key: 'shop/web', password: SECRET } };
    await queue.upsertJobScheduler('nightly', { every: 86_400_000 }, template);
    await queue.addJobLog(refused, `the password is ${SECRET}`);
    const hidden: string[] = [];
    for (const [, route] of REQUESTS.filter(([method]) => method === 'GET')) {
      const { status, text } = await board.fetch(pathOf(route));
      expect([route, text.includes(SECRET)]).toEqual([route, false]);
      if (status === 403) hidden.push(route);
    }
    expect(hidden).toEqual(['/api/job-schedulers', '/api/queues/:queueName/:jobId/logs']);
    await queue.removeJobScheduler('nightly');
  });

  it('changes nothing, whatever Bull Board offers', async () => {
    expect(CHANGES.length).toBeGreaterThan(15);
    const before = await queue.getJobCounts();
    for (const [method, route] of CHANGES) {
      const { status, text } = await board.fetch(pathOf(route), { method });
      expect([method, route, status]).toEqual([method, route, 405]);
      expect(text).toContain('this board changes nothing');
    }
    expect(await queue.getJobCounts()).toEqual(before);
  });

  it('has everything that it shows, and lets the browser ask nobody else', async () => {
    const { text, headers } = await board.fetch('/');
    expect(text).toContain('<title>Tether</title>');
    expect(text.match(/(?:href|src)="(?:https?:)?\/\/[^"]*"/g)).toBeNull();
    const files = [...text.matchAll(/(?:href|src)="(static\/[^"]+)"/g)].map(([, path]) => path);
    expect(files.length).toBeGreaterThan(3);
    for (const path of files) expect((await board.fetch(`/${path}`)).status).toBe(200);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*|script-src[^;]*unsafe/);
    expect(headers.get('x-frame-options')).toBe('DENY');
  });

  it('takes a new password from its file, and ends in order', async () => {
    const own = join(dir, 'own-password');
    writeFileSync(own, PASSWORD);
    const other = await openBoard('--board-password-file', own);
    expect((await other.fetch('/')).status).toBe(200);
    writeFileSync(own, 'another one');
    const headers = { authorization: as('tether', 'another one') };
    await eventually(async () => expect((await other.fetch('/', { headers })).status).toBe(200));
    expect((await other.fetch('/')).status).toBe(401);
    expect((await other.tether.stop()).code).toBe(0);
  });
});

describe('a board that may write', () => {
  let writable: Board;
  beforeAll(async () => {
    writable = await openBoard('--board-writable', 'true');
  });

  it('retries and promotes, and does nothing else', async () => {
    const allowed = CHANGES.map(([, route]) => route).filter((route) =>
      /\/(retry|promote)(\/:queueStatus)?$/.test(route),
    );
    expect(allowed).toHaveLength(4);
    const before = await queue.getJobCounts();
    for (const [method, route] of CHANGES.filter(([, path]) => !allowed.includes(path))) {
      const { status } = await writable.fetch(pathOf(route), { method });
      expect([method, route, status]).toEqual([method, route, 405]);
    }
    expect(await queue.getJobCounts()).toEqual(before);
    const retried = await writable.fetch(`/api/queues/service/${refused}/retry`, { method: 'PUT' });
    expect([retried.status, await queue.getJobState(refused)]).toEqual([204, 'waiting']);
  });

  it('promotes a key that backs off', async () => {
    const job = await queue.add('reconcile', { key: 'shop/late' }, { delay: 3_600_000 });
    const { status } = await writable.fetch(`/api/queues/service/${job.id}/promote`, {
      method: 'PUT',
    });
    expect([status, await queue.getJobState(job.id ?? '')]).toEqual([204, 'waiting']);
  });

  it('does nothing that another page asks for', async () => {
    const path = '/api/queues/service/promote';
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await writable.fetch(path, { method: 'PUT', headers })).status).toBe(403);
    const own = { 'sec-fetch-site': 'same-origin' };
    expect((await writable.fetch(path, { method: 'PUT', headers: own })).status).toBe(200);
  });
});

it('without Redis the board says so at once', async () => {
  const lonely = await boardOf(withoutRedis);
  expect(await lonely.fetch('/api/queues')).toMatchObject({
    status: 503,
    text: '{"error":"Redis does not answer"}',
  });
  expect((await lonely.fetch('/')).status).toBe(200);
});

it('tether up shows it where it is told to', async () => {
  const args = ['up', '--redis-prefix', harness.prefix, '--board-addr', '127.0.0.1:0'];
  const tether = spawnTether(args, { env: { TETHER_BOARD_PASSWORD: PASSWORD } });
  const shown = await boardOf(tether);
  // A Sentinel set-up may fail over meanwhile, and is away for a moment then.
  await eventually(async () => expect((await shown.fetch('/api/queues')).status).toBe(200));
  const [, metrics = ''] = await tether.untilLog(/"url":"([^"]+)","port":\d+,"msg":"serving/);
  await eventually(async () => {
    const scrape = await fetch(`${metrics}/metrics`, { headers: { connection: 'close' } });
    expect(await scrape.text()).toMatch(/^tether_redis_noeviction 1$/m);
  });
  expect(tether.stdout()).not.toContain(PASSWORD);
});

it('a board that cannot be shown is one clear line', async () => {
  const { port, host } = new URL(board.url);
  const both = ['--board-password', 'a', '--board-password-file', '/nonexistent'];
  const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
    [['board'], 2, /^--board-password: the board wants a password; give one, or/],
    [['board', '--board-password', ''], 2, /^--board-password: the board wants a password/],
    [['up', '--board-addr', '127.0.0.1:0'], 2, /^--board-password: the board wants a password/],
    [['board', ...both], 2, /^--board-password-file: --board-password is given too; leave one/],
    [['board', ...both.slice(2)], 2, /^--board-password-file: cannot be read: .*ENOENT/],
    [['board', '--board-addr', 'localhost'], 2, /^--board-addr "localhost": expected HOST:PORT/],
    [
      ['board', '--board-addr', host, '--board-password', 'a'],
      1,
      new RegExp(`^--board-addr: port ${port} of 127.0.0.1 is in use; choose another one`),
    ],
  ];
  const ended = await Promise.all(cases.map(([args]) => runTether(args)));
  for (const [at, { code, stderr }] of ended.entries()) {
    const [args, expected, message] = cases[at] ?? [];
    expect({ args, code }).toEqual({ args, code: expected });
    const lines = stderr.trimEnd().split('\n');
    expect(lines).toEqual([expect.stringMatching(/^tether: /)]);
    expect(lines[0]?.replace('tether: ', '')).toMatch(message ?? '');
  }
});
