import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { afterEach, expect, jest, test } from '@jest/globals';
import { createKubeClient } from '../../../platform/kube/client.ts';
import type { KubeClient } from '../../../platform/kube/client.ts';
import { fileCredentials, staticCredentials } from '../../../platform/kube/credentials.ts';
import type { KubeAccess } from '../../../platform/kube/kubeconfig.ts';
import { eventually } from '../../support/eventually.ts';
import { FIRST, SECOND } from './tls-fixtures.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A server for `tether.test` that answers with the name in the client's certificate. */
async function startServer() {
  const state = { handshakes: 0, resumed: 0, refused: new Set<string>() };
  const sockets = new Set<Duplex>();
  const server = createServer(
    { ...FIRST, ca: [FIRST.cert, SECOND.cert], requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const subject = (request.socket as TLSSocket).getPeerCertificate().subject as
        { CN?: string } | undefined;
      const name = subject?.CN ?? 'nobody';
      response.writeHead(state.refused.has(name) ? 401 : 200);
      response.end(JSON.stringify({ name }));
    },
  );
  server.on('secureConnection', (socket) => {
    state.handshakes += 1;
    if (socket.isSessionReused()) state.resumed += 1;
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  return { state, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function clientOf(access: Partial<KubeAccess> & { server: string }): KubeClient {
  const client = createKubeClient({
    insecure: false,
    ca: FIRST.cert,
    tlsServerName: 'tether.test',
    credentials: staticCredentials({}),
    ...access,
  });
  cleanups.push(() => client.close());
  return client;
}

const whoAmI = (client: KubeClient) =>
  client.get<{ name: string }>('/version', { what: 'get version' });

test('a client certificate is shown, and the server is checked by CA and tls-server-name', async () => {
  const { url: server } = await startServer();
  const credentials = staticCredentials({ certificate: SECOND });
  expect(await whoAmI(clientOf({ server, credentials }))).toEqual({ name: 'tether-test-2' });
  expect(await whoAmI(clientOf({ server }))).toEqual({ name: 'nobody' });
});

test('a server with another name or CA is refused with a hint', async () => {
  const { url: server } = await startServer();
  await expect(whoAmI(clientOf({ server, tlsServerName: 'other.test' }))).rejects.toThrow(
    /its certificate is for another name; set tls-server-name/,
  );
  await expect(whoAmI(clientOf({ server, ca: SECOND.cert }))).rejects.toThrow(
    /not signed by the CA of the kubeconfig/,
  );
});

test('insecure takes any certificate', async () => {
  const { url: server } = await startServer();
  const insecure = { server, insecure: true, ca: SECOND.cert, tlsServerName: 'other.test' };
  expect(await whoAmI(clientOf(insecure))).toEqual({ name: 'nobody' });
});

test('200 requests are a handshake or two, not 200', async () => {
  const { state, url: server } = await startServer();
  const client = clientOf({ server });
  for (let n = 0; n < 200; n += 1) await whoAmI(client);
  expect(state.handshakes).toBeLessThanOrEqual(2);
});

test('later connections resume the session of the first, with the same certificate', async () => {
  const { state, url: server } = await startServer();
  const client = clientOf({ server, credentials: staticCredentials({ certificate: SECOND }) });
  await whoAmI(client);
  // Side by side, so that each takes a connection of its own.
  const names = await Promise.all(Array.from({ length: 8 }, () => whoAmI(client)));
  expect(names).toEqual(names.map(() => ({ name: 'tether-test-2' })));
  expect(state.handshakes).toBeGreaterThan(2);
  expect(state.resumed).toBe(state.handshakes - 1);
});

test('a rotated certificate file is used without a restart, once the old one is refused', async () => {
  const { state, url: server } = await startServer();
  let current = FIRST;
  const credentials = fileCredentials({ certificate: async () => current });
  await credentials.clientCertificate();
  const client = clientOf({ server, credentials });
  expect(await whoAmI(client)).toEqual({ name: 'tether-test-1' });
  current = SECOND;
  state.refused.add('tether-test-1');
  const realNow = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => realNow() + 6_000);
  await expect(whoAmI(client)).rejects.toThrow('401');
  await eventually(async () => expect(await whoAmI(client)).toEqual({ name: 'tether-test-2' }));
});
