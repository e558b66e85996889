import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { createKubeClient } from '../../../platform/kube/client.ts';
import { staticCredentials } from '../../../platform/kube/credentials.ts';
import { eventually } from '../../support/eventually.ts';
import { MisbehavingApi } from '../../support/misbehaving-api.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A proxy that knows CONNECT alone; it says nothing to the first `silent` of them. */
async function startProxy(silent = 0) {
  const targets: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer();
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (request, socket) => {
    targets.push(request.url ?? '');
    authorizations.push(request.headers['proxy-authorization']);
    if (targets.length <= silent) return;
    const [host, port] = (request.url ?? '').split(':');
    const onward = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    for (const end of [onward, socket]) end.on('error', () => undefined);
    sockets.add(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  return { port: (server.address() as AddressInfo).port, targets, authorizations };
}

test('proxy-url is honoured by requests and watches, with its user and password', async () => {
  const api = await MisbehavingApi.start();
  cleanups.push(() => api.close());
  const proxy = await startProxy();
  const client = createKubeClient({
    server: api.url,
    insecure: false,
    proxyUrl: `http://user:pass@127.0.0.1:${proxy.port}`,
    credentials: staticCredentials({ authorization: 'Bearer t' }),
  });
  cleanups.push(() => client.close());
  for (let n = 0; n < 5; n += 1) await client.get('/version', { what: 'get version' });
  const options = { what: 'watch', resourceVersion: '1', timeoutSeconds: 60, idleMs: 5_000 };
  for await (const batch of client.watch('/apis/test/v1/things', options)) {
    expect(batch).toEqual([]);
    break;
  }
  // A tunnel or two for the requests, one for the watch; no connection beside the proxy.
  expect(new Set(proxy.targets)).toEqual(new Set([`127.0.0.1:${api.port}`]));
  expect(proxy.targets.length).toBeLessThanOrEqual(3);
  expect(api.connections).toBe(proxy.targets.length);
  expect(proxy.authorizations[0]).toBe(`Basic ${Buffer.from('user:pass').toString('base64')}`);
  expect(api.requests[0]?.authorization).toBe('Bearer t');
});

test('a proxy that took connections and said nothing is tried again', async () => {
  const api = await MisbehavingApi.start();
  cleanups.push(() => api.close());
  const proxy = await startProxy(1);
  const client = createKubeClient(
    {
      server: api.url,
      insecure: false,
      proxyUrl: `http://127.0.0.1:${proxy.port}`,
      credentials: staticCredentials({}),
    },
    { connections: 1 },
  );
  cleanups.push(() => client.close());
  const ask = (): Promise<unknown> =>
    client.get('/version', { what: 'get version', timeoutMs: 1_000 });
  await expect(ask()).rejects.toThrow('get version');
  await eventually(ask);
});
