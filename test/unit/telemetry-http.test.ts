import { afterEach, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/logger.ts';
import {
  flagCheck,
  freshnessCheck,
  runChecks,
  type Check,
} from '../../platform/telemetry/health.ts';
import { startHttpServer, type HttpServer } from '../../platform/telemetry/http-server.ts';
import { ListenError } from '../../platform/telemetry/listen.ts';

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function serve(checks: { live?: Check[]; ready?: Check[] } = {}, port = 0) {
  const server = await startHttpServer({
    host: '127.0.0.1',
    port,
    liveness: checks.live ?? [],
    readiness: checks.ready ?? [],
    metrics: { render: () => Promise.resolve('a_total 1\n') },
    log: silentLogger,
  });
  servers.push(server);
  return server;
}

async function get(server: HttpServer, path: string, method = 'GET') {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { connection: 'close' },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

test('/metrics is text as Prometheus reads it', async () => {
  const { status, text, headers } = await get(await serve(), '/metrics?x=1');
  expect([status, text]).toEqual([200, 'a_total 1\n']);
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
});

test('/healthz and /readyz answer by their own checks, each with a sentence', async () => {
  let inSync = false;
  const server = await serve({
    live: [flagCheck('loop', () => true, 'moving', 'stuck')],
    ready: [flagCheck('view', () => inSync, 'in sync', 'not listed yet')],
  });
  expect((await get(server, '/healthz')).status).toBe(200);
  const { status, text } = await get(server, '/readyz');
  expect(status).toBe(503);
  expect(JSON.parse(text)).toEqual({
    ok: false,
    checks: { view: { ok: false, detail: 'not listed yet' } },
  });
  inSync = true;
  expect((await get(server, '/readyz')).status).toBe(200);
});

test('anything else says what there is', async () => {
  const server = await serve();
  expect(await get(server, '/')).toMatchObject({ status: 404 });
  expect(await get(server, '/metrics', 'POST')).toMatchObject({ status: 405 });
});

test('a port in use is one line that names it', async () => {
  const { port } = await serve();
  const second = serve({}, port);
  await expect(second).rejects.toThrow(ListenError);
  await expect(second).rejects.toThrow(
    `--http-port: port ${port} of 127.0.0.1 is in use; choose another one, or 0 for any that is free`,
  );
});

test('a check that throws has failed', () => {
  const broken: Check = {
    name: 'x',
    check: () => {
      throw new Error('oops');
    },
  };
  expect(runChecks([broken])).toMatchObject({
    ok: false,
    checks: { x: { detail: expect.stringContaining('oops') } },
  });
});

test('freshness fails once the last sign of life is too old', () => {
  let age: number | null = null;
  const { check } = freshnessCheck({ name: 'watch', ageMs: () => age, limitMs: 1_000 });
  expect(check().ok).toBe(true);
  age = 1_000;
  expect(check().ok).toBe(true);
  age = 1_001;
  expect(check()).toEqual({ ok: false, detail: 'last sign of life 1.0 s ago (at most 1.0 s)' });
});
