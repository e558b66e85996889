import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startLambda, type Lambda } from '../support/lambda.ts';
import { freshNamespace } from '../support/namespaces.ts';
import { createService, createWorkload } from '../support/objects.ts';
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.ts';

const ROOT = join(import.meta.dirname, '../..');
/** As if OpenTelemetry were not installed. */
const WITHOUT_OPENTELEMETRY = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ resolve(name, context, next) {
    if (name.startsWith('@opentelemetry/')) throw new Error(name + ' is not there');
    return next(name, context);
  } });
`)}`;

let collector: TraceCollector;
let lambda: Lambda | undefined;
let ns: string;
beforeAll(async () => {
  collector = await startTraceCollector();
  ns = await freshNamespace('lambda-package');
  await createService(ns, 'web');
  await createWorkload(ns, 'vm', 'web');
});
afterEach(() => lambda?.end());
afterAll(() => collector.close());

async function reconcile(file: string, env: Readonly<Record<string, string>>): Promise<Lambda> {
  const prefix = { TETHER_REDIS_PREFIX: `${ns}-lambda` };
  lambda = startLambda(file, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...prefix,
    ...env,
  });
  const answer = await lambda.invoke({ kind: 'service', key: `${ns}/web` });
  expect(answer).toMatchObject({ statusCode: 200 });
  expect(JSON.parse(String(answer['body']))).toMatchObject({ outcome: 'done' });
  return lambda;
}

describe('the package that docs/serverless.md makes', () => {
  let unpacked: string;
  beforeAll(() => {
    unpacked = mkdtempSync(join(tmpdir(), 'tether-lambda-'));
    for (const file of packedFiles()) cpSync(join(ROOT, file), join(unpacked, file));
  });
  afterAll(() => rmSync(unpacked, { recursive: true }));

  it('has in it whatever a variable can ask for: traces, a log to read, metrics', async () => {
    const env = { TETHER_LOG_FORMAT: 'pretty' };
    const { output } = await reconcile(join(unpacked, 'dist/lambda.js'), env);
    await eventually(() => {
      const spans = collector.spans().filter(({ name }) => name === 'reconcile service');
      expect(spans.map(({ attributes }) => attributes['tether.key'])).toEqual([`${ns}/web`]);
    });
    const [, url = ''] = await eventually(() => {
      const found = /INFO.*"url":"([^"]+)"/.exec(output());
      if (found === null) throw new Error(`no metrics yet:\n${output()}`);
      return found;
    });
    const metrics = await fetch(`${url}/metrics`, { headers: { connection: 'close' } });
    expect(await metrics.text()).toContain('process_cpu_seconds_total');
    expect(output()).not.toMatch(/WARN|ERROR/);
  });
});

it('works without traces, and says so once, where OpenTelemetry is not installed', async () => {
  const env = { NODE_OPTIONS: WITHOUT_OPENTELEMETRY, TETHER_LOG_FORMAT: 'json' };
  const one = await reconcile(join(ROOT, 'cli/lambda.ts'), env);
  await one.invoke({ kind: 'service', key: `${ns}/web` });
  const warnings = (): string[] => one.output().match(/^.*"level":"warn".*$/gm) ?? [];
  const off = expect.stringMatching(/@opentelemetry\/api is not there.*traces are off/);
  await eventually(() => expect(warnings()).toEqual([off]));
});

/** What the page's line for `zip` names, by the shell that would run it. */
function packedFiles(): string[] {
  const page = readFileSync(join(ROOT, 'docs/serverless.md'), 'utf8');
  const [, names = ''] = /^zip -q function\.zip (.+)$/m.exec(page) ?? [];
  const found = execFileSync('sh', ['-c', `printf '%s\\n' ${names}`], { cwd: ROOT });
  return found.toString().trim().split('\n');
}
