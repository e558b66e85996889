import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { startApiInterceptor, type ApiInterceptor } from '../support/api-interceptor.ts';
import { makeChurn, say, type Churn } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { blackHole, refuse } from '../support/misbehaviours.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { openQueueProbe, type QueueProbe } from '../support/queue-probe.ts';
import { runTether, type TetherProcess } from '../support/processes.ts';
import { fromRun } from '../support/run.ts';

/*
 * The way to the API server is closed, for longer than the view is trusted without a watcher, while
 * everything behind it goes on changing. Workers have one key in hand at a time, so that each of the
 * two meets the outage. `npm run bench -- --scenario outage` does it for a minute.
 */
const KINDS = ['services', 'externalworkloads', 'endpointslices'] as const;
const SHUT = /"msg":"the API server does not answer: no key is taken until it does"/g;
const OPENED = /"msg":"the API server answers again after/g;

let ns: string;
let fleet: Fleet;
let between: ApiInterceptor;
let churn: Churn;
let queue: QueueProbe;
let redis: Redis;
beforeAll(async () => {
  ns = await freshNamespace('outage');
  fleet = openFleet(ns, { workerArgs: ['--concurrency', '1', '--request-timeout', '60'] });
  between = await startApiInterceptor();
  redis = new Redis(fromRun('redisUrl'));
  queue = await openQueueProbe(fromRun('redisUrl'), fleet.prefix);
  const way = { kubeconfig: between.kubeconfig };
  const roles = ['watcher', 'watcher', 'worker', 'worker'] as const;
  await Promise.all(roles.map((role) => fleet.start(role, way)));
  churn = await makeChurn(ns, 4);
});
afterAll(async () => {
  await churn.end();
  await fleet.killAll();
  await between.close();
  await queue.close();
  await redis.quit();
});
afterEach(() => churn.check());

const times = (worker: TetherProcess, what: RegExp): number =>
  [...worker.stdout().matchAll(what)].length;

/** Each asks the server on its own: one may do all the work before the other has seen it answer. */
async function eachOpenedTimes(count: number): Promise<void> {
  for (const worker of fleet.workers) {
    await eventually(() => expect(times(worker, OPENED)).toBe(count));
  }
}

/** Both workers have a write under way that is not answered. */
async function bothAreWriting(): Promise<void> {
  between.rule = ({ method }) => (method === 'GET' ? undefined : blackHole);
  await eventually(async () => expect(await queue.busy()).toMatchObject({ active: 2 }));
}

async function checksOf(worker: TetherProcess, path: string): Promise<[number, string]> {
  const [, url] = await worker.untilLog(/"url":"(http:[^"]+)"/);
  const answer = await fetch(`${url}${path}`, { headers: { connection: 'close' } });
  return [answer.status, await answer.text()];
}

/** Marks that say that the view is in sync, of all kinds. */
async function marks(): Promise<number> {
  const found = await redis.keys(`{${fleet.prefix}:${ns}}:*:m:*`);
  return found.length;
}

/** Of all namespaces: those of watchers. */
function listsSince(seen: number): Readonly<Record<string, number>> {
  const lists = between.requests
    .slice(seen)
    .filter(({ verb, path }) => verb === 'list' && !path.includes('/namespaces/'));
  return Object.fromEntries(
    KINDS.map((kind) => [kind, lists.filter(({ path }) => path.endsWith(`/${kind}`)).length]),
  );
}

/** Runs that read live, two lists each, as nobody had marked the view as in sync. */
function unmarked(): number {
  const lines = fleet.workers.map((worker) => worker.stdout()).join('');
  return lines.split('"why":"not-in-sync"').length - 1;
}

describe('the API server does not answer while things change', () => {
  test('workers take no keys and say so; all is right soon after, without a rush', async () => {
    expect(await marks()).toBe(KINDS.length);
    churn.start();
    await bothAreWriting();
    await between.goAway();
    between.rule = () => undefined;

    for (const worker of fleet.workers) {
      await eventually(() => expect(times(worker, SHUT)).toBe(1));
      const [status, text] = await checksOf(worker, '/readyz');
      expect(status).toBe(503);
      expect(text).toMatch(/no key is taken for [\d.]+ s, .*: the connection was refused/);
      expect((await checksOf(worker, '/healthz'))[0]).toBe(200);
      expect((await checksOf(worker, '/metrics'))[1]).toMatch(/^tether_api_outage_seconds (?!0$)/m);
    }
    await eventually(async () => {
      const { stdout } = await runTether(['status', '--redis-prefix', fleet.prefix]);
      expect(stdout).toMatch(/^WAITING WORKER +HOST +PID +FOR +WHY$/m);
      for (const { pid } of fleet.workers) expect(stdout).toContain(` ${pid} `);
    });
    await eventually(async () => expect(await marks()).toBe(0));

    const seen = between.requests.length;
    const missed = unmarked();
    await between.comeBack();
    await churn.stop();
    const gap = await churn.converged();
    const lists = listsSince(seen);
    say(`API server away: slices right ${gap} ms after the last change; ${JSON.stringify(lists)}`);
    expect(unmarked() - missed).toBe(0);
    await fleet.untilQuiet();
    await eachOpenedTimes(1);
    // They go on from where they were.
    for (const kind of KINDS) expect({ kind, lists: lists[kind] }).toEqual({ kind, lists: 0 });
    // No key was blamed for it: none waits for long, and none has begun to.
    expect(await fleet.count('workqueue_retries_total', 'name="service"')).toBe(0);
    expect(await redis.keys(`{${fleet.prefix}:${ns}}:failures`)).toEqual([]);
    const { stdout } = await runTether(['status', '--redis-prefix', fleet.prefix]);
    expect(stdout).not.toContain('WAITING WORKER');
  });

  test('a server that is starting is not asked for anything before it is ready', async () => {
    churn.start();
    await bothAreWriting();
    await between.goAway();
    for (const worker of fleet.workers) await eventually(() => expect(times(worker, SHUT)).toBe(2));
    let asked = 0;
    const early: string[] = [];
    between.rule = ({ method, path }) => {
      if (path === '/readyz') asked += 1;
      else if (path.includes('/endpointslices/')) early.push(`${method} ${path}`);
      return path === '/readyz' ? refuse(500) : undefined;
    };
    await between.comeBack();
    await eventually(() => expect(asked).toBeGreaterThanOrEqual(6));
    expect(early).toEqual([]);
    between.rule = () => undefined;
    await churn.stop();
    await churn.converged();
    await fleet.untilQuiet();
    await eachOpenedTimes(2);
  });
});
