import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ApiError, UnreachableError } from '../../../core/errors.ts';
import { createKubeClient } from '../../../platform/kube/client.ts';
import type { KubeClient, KubeClientOptions } from '../../../platform/kube/client.ts';
import { staticCredentials } from '../../../platform/kube/credentials.ts';
import type { KubeAccess } from '../../../platform/kube/kubeconfig.ts';
import { eventually } from '../../support/eventually.ts';
import {
  MisbehavingApi,
  answer,
  blackHole,
  cut,
  html,
  refuse,
} from '../../support/misbehaving-api.ts';

const THINGS = '/apis/test/v1/things';
let api: MisbehavingApi;
let clients: KubeClient[];

beforeEach(async () => {
  clients = [];
  api = await MisbehavingApi.start();
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await api.close();
});

function clientOf(options: KubeClientOptions = {}, access: Partial<KubeAccess> = {}): KubeClient {
  const credentials = staticCredentials({ authorization: 'Bearer test-token' });
  const client = createKubeClient(
    { server: api.url, insecure: false, credentials, ...access },
    options,
  );
  clients.push(client);
  return client;
}

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

describe('a request', () => {
  test('carries method, path, query, body and credential', async () => {
    const client = clientOf();
    const path = '/api/v1/namespaces/ns/services';
    const made = await client.create<Echo>(
      path,
      { a: 1 },
      {
        what: 'create service ns/a',
        query: { dryRun: 'All', fieldManager: 'a b' },
      },
    );
    expect(made.method).toBe('POST');
    expect(made.url).toBe(`${path}?dryRun=All&fieldManager=a+b`);
    expect(JSON.parse(made.body)).toEqual({ a: 1 });
    expect(made.headers).toMatchObject({
      authorization: 'Bearer test-token',
      'content-type': 'application/json',
      accept: 'application/json',
    });
    const replaced = await client.replace<Echo>(`${path}/a`, {}, { what: 'update service ns/a' });
    expect(replaced.method).toBe('PUT');
    const type = 'application/merge-patch+json';
    const patched = await client.patch<Echo>(`${path}/a`, {}, type, { what: 'patch service ns/a' });
    expect(patched).toMatchObject({ method: 'PATCH', headers: { 'content-type': type } });
    const gone = await client.delete<Echo>(`${path}/a`, undefined, { what: 'delete service ns/a' });
    expect(gone).toMatchObject({ method: 'DELETE', body: '' });
  });

  test('goes below the path of the server where it has one', async () => {
    const client = clientOf({}, { server: `${api.url}/k8s/clusters/c1` });
    const made = await client.get<Echo>('/version', { what: 'get version' });
    expect(made.url).toBe('/k8s/clusters/c1/version');
    expect(client.server).toBe(`127.0.0.1:${api.port}`);
  });

  test('200 times in a row needs no new connection each time', async () => {
    const client = clientOf();
    for (let n = 0; n < 200; n += 1) await client.get('/version', { what: 'get version' });
    // undici frees a connection one turn of the event loop after its answer, hence the second one.
    expect(api.connections).toBeLessThanOrEqual(2);
  });

  test('never has more connections than allowed, and watches have their own', async () => {
    const client = clientOf({ connections: 3 });
    const watch = client.watch(THINGS, WATCH);
    const first = await watch[Symbol.asyncIterator]().next();
    expect(first.value).toEqual([]);
    const requests = Array.from({ length: 50 }, () =>
      client.get('/version', { what: 'get version' }),
    );
    await Promise.all(requests);
    expect(api.connections).toBe(4);
  });

  test('that is never answered fails at its deadline, names itself, and holds up nobody (report 97)', async () => {
    const client = clientOf({ connections: 2 });
    api.next('list', blackHole);
    const stuck = client.get(THINGS, { what: 'list things of A', timeoutMs: 300 });
    const failed = expect(stuck).rejects.toThrow(
      /^list things of A: 127\.0\.0\.1:\d+ gave no answer within 0\.3 s$/,
    );
    const others = Array.from({ length: 20 }, () =>
      client.get('/version', { what: 'get version' }),
    );
    await Promise.all(others);
    await failed;
    // The connection that hung is gone, and its place is free again.
    await Promise.all([1, 2].map(() => client.get('/version', { what: 'get version' })));
  });

  test('that waits for a connection fails at its deadline as well', async () => {
    const client = clientOf({ connections: 1 });
    api.next('list', blackHole);
    const stuck = client.get(THINGS, { what: 'first', timeoutMs: 2_000 });
    const waits = client.get('/version', { what: 'second', timeoutMs: 100 });
    await expect(waits).rejects.toBeInstanceOf(UnreachableError);
    await expect(stuck).rejects.toBeInstanceOf(UnreachableError);
    expect(api.seen('other')).toHaveLength(0);
  });

  test('is cut by its signal, with the signal’s reason', async () => {
    const client = clientOf();
    api.next('list', blackHole);
    const lost = new AbortController();
    const stuck = client.get(THINGS, { what: 'list things', signal: lost.signal });
    await eventually(() => expect(api.seen('list')).toHaveLength(1));
    lost.abort(new Error('the lock was lost'));
    await expect(stuck).rejects.toThrow('the lock was lost');
    await eventually(() => expect(api.openSockets).toBe(0));
    await expect(client.get(THINGS, { what: 'x', signal: lost.signal })).rejects.toThrow(
      'the lock',
    );
    expect(api.requests).toHaveLength(1);
  });
});

const WATCH = { what: 'watch things', resourceVersion: '1', timeoutSeconds: 60, idleMs: 10_000 };

describe('an error', () => {
  test('of the server has status, reason, causes and the pause asked for', async () => {
    const causes = [{ reason: 'FieldValueInvalid', field: 'spec', message: 'no' }];
    const headers = { 'retry-after': '2' };
    api.next(
      'list',
      refuse(429, { reason: 'TooManyRequests', message: 'slow down', causes }, headers),
    );
    const failed = clientOf().get(THINGS, { what: 'list things' });
    const error = await failed.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect((error as ApiError).message).toBe('list things: 429 TooManyRequests: slow down');
    expect((error as ApiError).failure).toMatchObject({ status: 429, retryAfterMs: 2000, causes });
  });

  test('of a proxy is one clear line', async () => {
    api.next('list', html(502), html(200));
    const client = clientOf();
    await expect(client.get(THINGS, { what: 'list things' })).rejects.toThrow(
      /502: .*not JSON \(text\/html\).*Please log in/,
    );
    await expect(client.get(THINGS, { what: 'list things' })).rejects.toThrow(
      /answered 200 with not JSON.*Please log in/,
    );
  });

  test('with an endless body is read up to a bound', async () => {
    api.next('list', (_request, response) => {
      response.writeHead(500, { 'content-type': 'text/html' });
      const flood = (): void => {
        if (response.destroyed) return;
        response.write('x '.repeat(50_000), flood);
      };
      flood();
    });
    const error = await clientOf()
      .get(THINGS, { what: 'list things' })
      .catch((e: unknown) => e);
    expect((error as ApiError).status).toBe(500);
    expect((error as ApiError).message.length).toBeLessThan(300);
    await eventually(() => expect(api.openSockets).toBe(0));
  });

  test('is what an answer above the limit ends in', async () => {
    for (const name of ['a', 'b', 'c']) api.put(name, 'x'.repeat(100_000));
    const client = clientOf({ maxAnswerBytes: 150_000 });
    await expect(client.get(THINGS, { what: 'list things' })).rejects.toThrow(
      /^list things: .*more than 150000 bytes; ask for less at once$/,
    );
    const pages = client.list(THINGS, { what: 'list things', limit: 1 });
    let count = 0;
    for await (const page of pages) count += page.items.length;
    expect(count).toBe(3);
  });

  test('is what a redirect ends in: it is not followed', async () => {
    const other = await MisbehavingApi.start();
    api.next('list', answer(302, '', { location: `${other.url}/stolen` }));
    await expect(clientOf().get(THINGS, { what: 'list things' })).rejects.toThrow('not followed');
    expect(other.requests).toHaveLength(0);
    await other.close();
  });

  test('of the network says what to look at', async () => {
    api.next('list', cut);
    const client = clientOf();
    await expect(client.get(THINGS, { what: 'list things' })).rejects.toThrow(
      /^list things: 127\.0\.0\.1:\d+: the connection was (closed|reset) by the other side/,
    );
    const lonely = clientOf();
    await api.close();
    await expect(lonely.get('/version', { what: 'get version' })).rejects.toThrow(
      /^get version: .*the connection was refused; does the API server run/,
    );
    api = await MisbehavingApi.start();
  });

  test('follows every request after close', async () => {
    const client = clientOf();
    api.next('list', blackHole);
    const stuck = client.get(THINGS, { what: 'list things' });
    const failed = expect(stuck).rejects.toBeInstanceOf(UnreachableError);
    await eventually(() => expect(api.seen('list')).toHaveLength(1));
    await client.close();
    await failed;
    await expect(client.get('/version', { what: 'get version' })).rejects.toBeInstanceOf(
      UnreachableError,
    );
  });
});

test('the observer hears verb, resource, code and seconds of every request, watches at their end', async () => {
  const heard: string[] = [];
  const onRequest = (verb: string, resource: string, code: number, seconds: number): void => {
    expect(seconds).toBeGreaterThan(0);
    heard.push(`${verb} ${resource} ${code}`);
  };
  const client = clientOf({ observe: { onRequest } });
  await client.create('/api/v1/namespaces/ns/services', {}, { what: 'create' });
  api.next('list', refuse(404), cut);
  await client.get(THINGS, { what: 'get' }).catch(() => undefined);
  await client.get(THINGS, { what: 'get' }).catch(() => undefined);
  for await (const _batch of client.watch(THINGS, WATCH)) break;
  expect(heard).toEqual([
    'create services 200',
    'get things 404',
    'get things 0',
    'watch things 200',
  ]);
});
