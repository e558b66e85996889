import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { staticCredentials } from '../../../platform/kube/credentials.ts';
import { askHealth } from '../../../platform/kube/server-health.ts';
import { freePort } from '../../../platform/process/free-port.ts';

let behave: RequestListener;
let server: Server;
let port: number;
beforeEach(async () => {
  server = createServer((request, response) => behave(request, response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
});

const ask = (to = port, signal = new AbortController().signal) => {
  const credentials = staticCredentials({ authorization: 'Bearer secret-token' });
  return askHealth({ server: `http://127.0.0.1:${to}`, insecure: false, credentials }, signal);
};
/** Credentials of an exec plugin that hangs. */
const WAITING = {
  ...staticCredentials({}),
  authorization: () => new Promise<undefined>(() => undefined),
};
const answering = (status: number, text: string): RequestListener => {
  return (_request, response) => void response.writeHead(status).end(text);
};

it.each([
  ['that is ready', 200, 'ok'],
  ['that does not know us', 401, ''],
  ['that tells us nothing of its health', 403, '{}'],
  ['that is something else', 404, '<html>'],
])('a server answers %s (%i)', async (_what, status, text) => {
  behave = answering(status, text);
  expect(await ask()).toEqual({ kind: 'answers' });
});

it('asks /readyz, which every user may', async () => {
  let seen = '';
  behave = (request, response) => {
    seen = `${request.url} ${request.headers.authorization}`;
    response.end('ok');
  };
  await ask();
  expect(seen).toBe('/readyz Bearer secret-token');
});

it('a server that is not ready by its own word is starting', async () => {
  behave = answering(500, '[-]poststarthook/rbac/bootstrap-roles failed\nreadyz check failed');
  expect(await ask()).toEqual({
    kind: 'starting',
    reason: `127.0.0.1:${port} says that it is not ready yet`,
  });
});

it.each([502, 503, 504])('a gateway that says %i stands before nobody', async (status) => {
  behave = answering(status, 'no backend is up');
  expect(await ask()).toEqual({
    kind: 'away',
    reason: `127.0.0.1:${port} answers ${status}`,
  });
});

it('a refused connection is nobody', async () => {
  const nobody = await freePort();
  const health = await ask(nobody);
  expect(health).toMatchObject({ kind: 'away' });
  expect(JSON.stringify(health)).toContain(`127.0.0.1:${nobody}: the connection was refused`);
});

it('a cut connection is nobody', async () => {
  behave = (request) => void request.socket.destroy();
  expect(await ask()).toMatchObject({ kind: 'away' });
});

it('silence is nobody, after two seconds', async () => {
  behave = () => undefined;
  expect(await ask()).toEqual({
    kind: 'away',
    reason: `127.0.0.1:${port} gave no answer within 2 s`,
  });
});

it('ends at once when it is no longer wanted', async () => {
  const stop = new AbortController();
  behave = () => stop.abort();
  expect(await ask(port, stop.signal)).toMatchObject({ kind: 'away' });
});

it('does not wait for a credential that is not to be had', async () => {
  const access = { server: `http://127.0.0.1:${port}`, insecure: false, credentials: WAITING };
  expect(await askHealth(access, new AbortController().signal)).toEqual({
    kind: 'away',
    reason: `127.0.0.1:${port} gave no answer within 2 s`,
  });
});

it('ends at once while it waits for a credential, when it is no longer wanted', async () => {
  const access = { server: `http://127.0.0.1:${port}`, insecure: false, credentials: WAITING };
  const stop = new AbortController();
  const asking = askHealth(access, stop.signal);
  stop.abort(new Error('the process ends'));
  expect(await asking).toMatchObject({ reason: expect.stringContaining('the process ends') });
});
