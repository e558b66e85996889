import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { api, apiOk } from '../support/api.ts';
import { createAnswerCheck } from '../support/openapi.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload } from '../support/objects.ts';
import { runTether, spawnTether, type TetherProcess } from '../support/processes.ts';
import { pythonWithBullmq } from '../support/python.ts';
import { fromRun } from '../support/run.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'examples');
const TOKEN = 'a-secret-of-the-test';
const check = createAnswerCheck();

let ns: string;
let dir: string;
let up: TetherProcess;
let url: string;
beforeAll(async () => {
  ns = await freshNamespace('trigger');
  dir = mkdtempSync(join(tmpdir(), 'tether-trigger-'));
  writeFileSync(join(dir, 'token'), `${TOKEN}\n`);
  const options = ['--redis-prefix', ns, '--trigger-token-file', join(dir, 'token')];
  up = spawnTether(['up', '--log-format', 'json', '--namespaces', ns, ...options], {
    lifetime: 'file',
  });
  [, url = ''] = await up.untilLog(/"lookupUrl":"([^"]+)"/);
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
});
afterAll(() => rmSync(dir, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Runs a program as a user would, with what the examples want in the environment. */
function run(program: string, args: readonly string[]): Promise<Ran> {
  const env = {
    ...process.env,
    TETHER_REDIS_URL: fromRun('redisUrl'),
    TETHER_REDIS_PREFIX: ns,
    TETHER_URL: url,
    TETHER_TRIGGER_TOKEN: TOKEN,
  };
  return new Promise((resolve) => {
    execFile(program, args, { env, cwd: ROOT }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, output: stdout + stderr });
    });
  });
}

async function ask(body: object, query = '', token = TOKEN) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    connection: 'close',
  };
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(`${url}/v1/reconcile${query}`, init);
  const got = (await response.json()) as Readonly<Record<string, unknown>>;
  expect(check.answer('/v1/reconcile', response.status, got, 'post')).toBe('');
  return { status: response.status, body: got };
}

describe('POST /v1/reconcile', () => {
  test('is answered with what the worker did', async () => {
    const { status, body } = await ask({ kind: 'service', key: `${ns}/web` }, '?wait=true');
    expect(status).toBe(200);
    const result = { endpoints: 1, ready: 1, slices: 1, read: 'live' };
    expect(body).toMatchObject({ kind: 'service', key: `${ns}/web`, outcome: 'done', result });
  });

  test('takes cluster Secrets as well', async () => {
    const { status, body } = await ask({ kind: 'cluster', key: 'tether/none' }, '?wait=true');
    expect(status).toBe(200);
    expect(body).toMatchObject({ outcome: 'done', result: { decision: null } });
  });

  test('is counted, is in the log, and the token is nowhere', async () => {
    expect((await ask({ kind: 'service', key: `${ns}/web` }, '', 'wrong')).status).toBe(401);
    const { body } = await ask({ kind: 'service', key: `${ns}/web` });
    await up.untilLog(new RegExp(`"id":"${String(body['id'])}".*"asked for over HTTP"`));
    const [, metricsUrl = ''] = await up.untilLog(/"url":"([^"]+)"/);
    const metrics = await fetch(`${metricsUrl}/metrics`, { headers: { connection: 'close' } });
    const text = await metrics.text();
    expect(text).toContain('tether_triggers_total{code="401"} 1');
    expect(text).toContain('tether_triggers_total{code="202"} 1');
    expect(text).not.toMatch(/tether_lookups_total\{code="(202|401)"\}/);
    expect(up.stdout() + up.stderr()).not.toContain(TOKEN);
  });

  test.each([
    [['--trigger-token', 'x'], /^tether: --trigger-token-file: --trigger-token is given too/],
    [[], /^tether: --trigger-token-file: .*empty is empty\n$/],
  ])('is not offered with a token that cannot be right (%j)', async (more, complaint) => {
    const file = join(dir, 'empty');
    writeFileSync(file, '\n');
    const args = ['lookup', '--log-level', 'silent', '--trigger-token-file', file, ...more];
    const { code, stderr } = await runTether(args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(complaint)]);
  });
});

/** The scripts are for one server: what they hand to BullMQ would be taken for the name of a host. */
const testScript = /^rediss?:/.test(fromRun('redisUrl')) ? test : test.skip;

describe('the examples of docs/trigger.md run:', () => {
  test('the command', async () => {
    const args = ['reconcile', 'service', `${ns}/web`, '--wait', '--redis-prefix', ns];
    const { code, stdout } = await runTether(args);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/1 of 1 endpoints ready in 1 slice/)]);
  });

  test('curl', async () => {
    const script = join(EXAMPLES, 'trigger/reconcile.sh');
    const { code, output } = await run('sh', [script, `${ns}/web`]);
    expect(JSON.parse(output)).toMatchObject({ outcome: 'done', result: { ready: 1 } });
    expect(code).toBe(0);
    const wrong = await run('sh', [script, 'no key']);
    expect([wrong.code, wrong.output]).toEqual([22, expect.stringContaining('is not a key')]);
  });

  testScript('the Node script', async () => {
    const script = join(EXAMPLES, 'trigger/enqueue.mjs');
    const { code, output } = await run(process.execPath, [script, `${ns}/web`]);
    expect(output).toMatch(/ is job \d+\ndone: 0 created, 0 updated, 0 deleted\n$/);
    expect(code).toBe(0);
    const wrong = await run(process.execPath, [script, 'web']);
    expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('is not a key')]);
  });

  testScript('the Node script, whose job may be done and gone before it hears of it', async () => {
    const script = join(EXAMPLES, 'trigger/enqueue.mjs');
    const late = ['--import', join(ROOT, 'test/support/fixtures/late-add.ts')];
    const { code, output } = await run(process.execPath, [...late, script, `${ns}/web`]);
    expect(output).toMatch(/ is job \d+\ndone: 0 created, 0 updated, 0 deleted\n$/);
    expect(code).toBe(0);
  });

  testScript(
    'the Python script',
    async () => {
      const python = await pythonWithBullmq();
      if (python === null) return;
      const script = join(EXAMPLES, 'trigger/enqueue.py');
      const { code, output } = await run(python, [script, `${ns}/web`]);
      expect(output).toMatch(/ is job \d+\ndone: 0 created, 0 updated\n$/);
      expect(code).toBe(0);
      const wrong = await run(python, [script, 'web']);
      expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('is not a key')]);
    },
    240_000,
  );
});

interface Manifest {
  readonly metadata: object;
  readonly spec: { readonly template: { readonly spec: Readonly<Record<string, unknown>> } };
}

const manifest = (path: string): Manifest =>
  parse(readFileSync(join(EXAMPLES, path), 'utf8')) as Manifest;

/** A field that does not exist is an error, too. */
const DRY_RUN = '?dryRun=All&fieldValidation=Strict';

describe('the manifests', () => {
  test('the CronJob is one that the API server takes', async () => {
    const job = manifest('trigger/cronjob.yaml');
    const body = { ...job, metadata: { ...job.metadata, namespace: ns } };
    await apiOk('POST', `/apis/batch/v1/namespaces/${ns}/cronjobs${DRY_RUN}`, body);
    const wrong = { ...body, spec: { ...body.spec, schedulle: '' } };
    const refused = await api('POST', `/apis/batch/v1/namespaces/${ns}/cronjobs${DRY_RUN}`, wrong);
    expect(refused.status).toBe(400);
  });

  test('the Knative Service holds what a Pod may hold', async () => {
    const { template } = manifest('serverless/knative.yaml').spec;
    // What Knative adds, and what it has of its own.
    const { containerConcurrency, timeoutSeconds, serviceAccountName, ...pod } = template.spec;
    expect([containerConcurrency, timeoutSeconds]).toEqual([64, 60]);
    expect(serviceAccountName).toBe('tether-worker');
    const [container] = pod['containers'] as readonly { readonly readinessProbe: object }[];
    const readinessProbe = { httpGet: { path: '/healthz', port: 8080 } };
    const containers = [{ ...container, name: 'user-container', readinessProbe }];
    const spec = { ...pod, containers, automountServiceAccountToken: false };
    const accounts = `/api/v1/namespaces/${ns}/serviceaccounts`;
    await apiOk('POST', accounts, { metadata: { name: 'knative' } });
    await apiOk('POST', `/api/v1/namespaces/${ns}/pods${DRY_RUN}`, {
      metadata: { name: 'function', labels: {} },
      spec: { ...spec, serviceAccountName: 'knative' },
    });
  });
});
