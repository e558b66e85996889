import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startPrivateRedis, type PrivateRedis } from '../../platform/redis/private-server.ts';
import { lockKey } from '../../platform/redis/view/keys.ts';
import { makeChurn, type Churn } from '../support/churn.ts';
import { eventually } from '../support/eventually.ts';
import { openFleet, type Fleet } from '../support/fleet.ts';
import { handlerFile, startLambda, type Lambda } from '../support/lambda.ts';
import { watchLocks, type LockWatch } from '../support/lock-watch.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload, endpointsOf } from '../support/objects.ts';
import { runTether, spawnTether } from '../support/processes.ts';
import { openRedis } from '../support/redis.ts';

const JSON_TYPE = { 'content-type': 'application/json', connection: 'close' };

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(url: string, key: string, kind = 'service', headers = {}): Promise<Answer> {
  const body = JSON.stringify({ kind, key });
  const init = { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body };
  const response = await fetch(url, init);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

/** As every caller should: comes again after 503 and 504. */
async function askUntilSettled(url: string, key: string): Promise<Answer> {
  for (;;) {
    const answer = await ask(url, key);
    if (answer.status !== 503 && answer.status !== 504) return answer;
  }
}

/** As Lambda does with an event whose invocation failed: sends it again. Gives status and outcome. */
async function invokeUntilDone(lambda: Lambda, key: string): Promise<string> {
  for (;;) {
    const { failed, statusCode, body } = await lambda.invoke({ kind: 'service', key });
    if (failed !== undefined) {
      expect(failed).toMatch(/; invoke again$/);
      continue;
    }
    const { outcome } = JSON.parse(String(body)) as Answer['body'];
    return `${String(statusCode)} ${String(outcome)}`;
  }
}

async function startFunction(
  args: readonly string[],
  env = {},
  lifetime: 'test' | 'file' = 'test',
) {
  const tether = spawnTether(['function', '--log-format', 'json', ...args], { lifetime, env });
  const [, url = ''] = await tether.untilLog(/"functionUrl":"([^"]+)"/);
  return { tether, url };
}

describe('beside workers', () => {
  const SERVICES = 20;
  const LANES = 10;
  const TIMES = 6;
  let fleet: Fleet;
  let churn: Churn;
  let locks: LockWatch | undefined;
  let lambda: Lambda;
  let url: string;
  let ns: string;

  beforeAll(async () => {
    ns = await freshNamespace('serverless');
    fleet = openFleet(ns);
    await Promise.all([fleet.start('watcher'), fleet.start('worker'), fleet.start('worker')]);
    ({ url } = await startFunction(['--redis-prefix', fleet.prefix], {}, 'file'));
    lambda = startLambda(await handlerFile(), { TETHER_REDIS_PREFIX: fleet.prefix });
    churn = await makeChurn(ns, SERVICES);
    locks = await watchLocks(fleet.prefix);
  });
  afterAll(async () => {
    await lambda.end();
    await churn.end();
    await locks?.end();
    await fleet.killAll();
  });

  test('the handler for AWS Lambda takes the locks that workers take', async () => {
    const runs = async (): Promise<number> => (await locks?.report())?.runs ?? 0;
    await fleet.untilQuiet();
    const before = await runs();
    expect(await invokeUntilDone(lambda, `${ns}/${churn.services[0]}`)).toBe('200 done');
    expect(await runs()).toBeGreaterThan(before);
  });

  test('functions and workers never run one key at once, and together make the slices right', async () => {
    const done = (): Promise<number> => fleet.count('tether_reconciles_total', 'outcome="done"');
    const before = await done();
    churn.start();
    const keys = Array.from({ length: TIMES }, () => churn.services).flat();
    const lanes = Array.from({ length: LANES }, async () => {
      const answers: Answer[] = [];
      for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
        answers.push(await askUntilSettled(url, `${ns}/${key}`));
      }
      return answers;
    });
    // Lambda gives a process one event at a time.
    const laneOfLambda = async (): Promise<string[]> => {
      const outcomes: string[] = [];
      for (const key of churn.services) {
        outcomes.push(await invokeUntilDone(lambda, `${ns}/${key}`));
      }
      return outcomes;
    };
    const [ofLambda, ...ofFunction] = await Promise.all([laneOfLambda(), ...lanes]);
    const answers = ofFunction.flat();
    await churn.stop();
    await churn.converged();
    await churn.check();

    expect(answers).toHaveLength(SERVICES * TIMES);
    const outcomes = answers.map(({ status, body }) => `${status} ${String(body['outcome'])}`);
    expect([...new Set([...outcomes, ...ofLambda])]).toEqual(['200 done']);
    const { runs = 0, overlaps } = (await locks?.report()) ?? {};
    expect(overlaps).toEqual([]);
    // Both sides had the locks, in turns.
    const ofWorkers = (await done()) - before;
    expect(ofWorkers).toBeGreaterThan(0);
    expect(runs).toBeGreaterThan(ofWorkers);
  });
});

describe('tether function', () => {
  let ns: string;
  beforeAll(async () => {
    ns = await freshNamespace('function');
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
  });

  test('needs neither watchers nor workers, and says what it did', async () => {
    const prefix = ['--redis-prefix', `${ns}-alone`];
    const { tether, url } = await startFunction(prefix);
    const made = await ask(url, `${ns}/web`);
    expect(made).toMatchObject({
      status: 200,
      body: { outcome: 'done', result: { created: 1, endpoints: 1, ready: 1, read: 'live' } },
    });
    expect(await endpointsOf(ns, 'web')).toEqual(['192.0.2.10 8080 ready']);
    expect(await ask(url, `${ns}/web`)).toMatchObject({
      body: { result: { created: 0, updated: 0 } },
    });
    // A Secret that is not there is a key like any other.
    expect(await ask(url, 'tether/none', 'cluster')).toMatchObject({
      status: 200,
      body: { outcome: 'done', result: { decision: null } },
    });
    expect(await (await fetch(`${url}/healthz`, { headers: JSON_TYPE })).json()).toMatchObject({
      ok: true,
    });
    expect((await fetch(`${url}/other`, { headers: JSON_TYPE })).status).toBe(404);
    const [, metricsUrl = ''] = await tether.untilLog(/"url":"([^"]+)"/);
    const metrics = await (await fetch(`${metricsUrl}/metrics`, { headers: JSON_TYPE })).text();
    expect(metrics).toContain('tether_triggers_total{code="200"} 3');
    expect(metrics).toContain('tether_reconciles_total{outcome="done"} 2');
  });

  test('answers on PORT, as platforms for functions have it, and wants a token there', async () => {
    const open = await runTether(['function'], { env: { PORT: '18080' } });
    expect([open.code, open.stdout, open.stderr.split('\n').length]).toEqual([2, '', 2]);
    expect(open.stderr).toMatch(/^tether: --trigger-token-file: is needed to answer on \*:18080/);
    const env = { TETHER_TRIGGER_TOKEN: 'a-secret-of-the-test' };
    const { tether, url } = await startFunction(['--function-addr', '*:0'], env);
    const without = await ask(url, `${ns}/web`);
    const wrong = await ask(url, `${ns}/web`, 'service', { authorization: 'Bearer wrong' });
    const right = await ask(url, `${ns}/web`, 'service', {
      authorization: `Bearer ${env.TETHER_TRIGGER_TOKEN}`,
    });
    expect([without.status, wrong.status, right.status]).toEqual([401, 401, 200]);
    expect(tether.stdout() + tether.stderr()).not.toContain(env.TETHER_TRIGGER_TOKEN);
  });

  test('ends in order, with an answer to whoever waits', async () => {
    // Somebody else holds the lock for as long as anybody would wait.
    const { tether, url } = await startFunction([
      '--redis-prefix',
      `${ns}-stop`,
      '--drain-seconds',
      '0',
    ]);
    const redis = openRedis();
    await redis.set(lockKey(`${ns}-stop`, ns, 'web'), 'somebody else', 'PX', 60_000);
    redis.disconnect();
    const waiting = ask(url, `${ns}/web`);
    await eventually(async () => {
      const [, metricsUrl = ''] = await tether.untilLog(/"url":"([^"]+)"/);
      const metrics = await (await fetch(`${metricsUrl}/metrics`, { headers: JSON_TYPE })).text();
      expect(metrics).toMatch(/tether_reconciles_total\{outcome="retry"\} [1-9]/);
    });
    const { code } = await tether.stop();
    const { status, body } = await waiting;
    expect([code, status, body['outcome']]).toEqual([0, 503, 'retry']);
  });
});

describe('the handler for AWS Lambda', () => {
  const SECRET = 'a-secret-of-the-test';
  let ns: string;
  let server: PrivateRedis;
  let lambda: Lambda | undefined;
  beforeAll(async () => {
    ns = await freshNamespace('lambda');
    await createService(ns, 'web');
    await createWorkload(ns, 'vm', 'web');
    server = await startPrivateRedis();
  });
  afterEach(() => lambda?.end());
  afterAll(() => server.stop());

  const bodyOf = ({ body }: Readonly<Record<string, unknown>>): unknown => JSON.parse(String(body));

  test('answers events of both shapes, and keeps what it opened from one to the next', async () => {
    const env = { TETHER_REDIS_URL: server.url, TETHER_TRIGGER_TOKEN: SECRET };
    lambda = startLambda(await handlerFile(), env);
    const direct = { kind: 'service', key: `${ns}/web` };
    const first = await lambda.invoke(direct);
    expect(first).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
    });
    expect(bodyOf(first)).toMatchObject({ outcome: 'done', result: { created: 1 } });
    const http = {
      version: '2.0',
      rawPath: '/',
      rawQueryString: '',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${SECRET}` },
      requestContext: { http: { method: 'POST' } },
      body: JSON.stringify(direct),
      isBase64Encoded: false,
    };
    const second = await lambda.invoke(http);
    expect(bodyOf(second)).toMatchObject({ outcome: 'done', result: { created: 0 } });
    expect(await lambda.invoke({ ...http, headers: {} })).toMatchObject({ statusCode: 401 });
    expect(await lambda.invoke({ kind: 'service' })).toMatchObject({ statusCode: 400 });

    // The connections that it had were given up while it was frozen.
    const redis = openRedis(server.url);
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    redis.disconnect();
    expect(await lambda.invoke(direct)).toMatchObject({ statusCode: 200 });
    expect(lambda.output().match(/"msg":"ready"/g)).toHaveLength(1);
    expect(lambda.output()).not.toContain(SECRET);
  });

  test('fails with the reason while it cannot be started', async () => {
    lambda = startLambda(await handlerFile(), { TETHER_CONCURRENCY: 'many' });
    for (let times = 0; times < 2; times += 1) {
      const answer = await lambda.invoke({ kind: 'service', key: 'a/b' });
      expect(answer).toEqual({ failed: expect.stringContaining('TETHER_CONCURRENCY "many"') });
    }
  });
});
