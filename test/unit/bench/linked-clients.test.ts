import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { load, Poller } from '../../../bench/linked/load.ts';
import { RawConnection, requestText } from '../../../bench/linked/raw-http.ts';
import { Subscribers } from '../../../bench/linked/subscribers.ts';
import { eventually } from '../../support/eventually.ts';

/* The benchmark's own clients do as little as they can; what they count must still be right. */

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
});

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

describe('a raw connection', () => {
  test.each([
    ['in one piece', (text: string) => [text]],
    ['in many pieces', (text: string) => text.match(/.{1,3}/gs) ?? []],
  ])('reads an answer of known length that comes %s', async (_how, pieces) => {
    const body = '{"endpoints":["192.0.2.1"]}';
    const port = await serve((request, response) => {
      response.writeHead(request.url === '/gone' ? 404 : 200, { 'content-length': body.length });
      for (const piece of pieces(body)) response.write(piece);
      response.end();
    });
    const connection = new RawConnection(port);
    expect(await connection.ask(requestText('/'))).toEqual({ status: 200, body });
    expect(await connection.ask(requestText('/gone'))).toEqual({ status: 404, body });
    connection.close();
  });

  test('reads an answer in chunks, and the next one over the same socket', async () => {
    const ports = new Set<number | undefined>();
    const port = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      response.write('first ');
      response.end('second');
    });
    const connection = new RawConnection(port);
    for (let nth = 0; nth < 3; nth += 1) {
      const { status, body } = await connection.ask(requestText('/'));
      expect({ status, body }).toEqual({ status: 200, body: expect.stringContaining('second') });
    }
    expect(ports.size).toBe(1);
    connection.close();
  });

  test('gives status 0 when there is no answer, and comes back', async () => {
    let cut = true;
    const port = await serve((request, response) => {
      if (cut) request.socket.destroy();
      else response.end('ok');
    });
    const connection = new RawConnection(port);
    expect(await connection.ask(requestText('/'))).toEqual({ status: 0, body: '' });
    cut = false;
    expect((await connection.ask(requestText('/'))).status).toBe(200);
    connection.close();
  });
});

test('the load counts answers, and those that were refused apart', async () => {
  let served = 0;
  const port = await serve((_request, response) => {
    served += 1;
    response.statusCode = served % 2 === 0 ? 503 : 200;
    response.end('12345');
  });
  const outcome = await load({ port, path: '/', connections: 2, seconds: 0.2 });
  expect(outcome.answers + outcome.refused).toBe(served);
  expect(outcome.answers - outcome.refused).toBeLessThanOrEqual(1);
  expect(outcome).toMatchObject({ bodyBytes: 5 });
  expect(outcome.p99).toBeGreaterThanOrEqual(outcome.p50);
});

test('the poller counts answers that lack something and those that failed', async () => {
  let nth = 0;
  const answers = ['a b', 'a', 'fail'];
  const port = await serve((_request, response) => {
    const body = answers[nth] ?? 'a b';
    nth += 1;
    if (body === 'fail') response.statusCode = 503;
    response.end(body);
  });
  const targets = [{ port, path: '/' }];
  const poller = new Poller({ targets, perSecond: 200, expected: ['a', 'b'] });
  await eventually(() => expect(nth).toBeGreaterThan(5));
  expect(await poller.stop()).toMatchObject({
    answers: nth,
    incomplete: 1,
    failed: 1,
    example: '/: 200 a',
  });
});

test('subscribers tell when each of them saw an address first', async () => {
  const open: ServerResponse[] = [];
  const port = await serve((_request, response) => {
    response.write('event: full\ndata: {"endpoints":[{"address":"10.0.0.1"}]}\n\n');
    open.push(response);
  });
  const subscribers = new Subscribers();
  await subscribers.open({ port, path: '/' }, 3);
  const event = (address: string): string => `event: change\ndata: {"address":"${address}"}\n\n`;
  const waiting = subscribers.untilSeen('172.16.0.2', 10_000);
  for (const response of open) {
    response.write(event('172.16.0.1'));
    // One chunk of the response may come in two pieces, an address in both.
    const text = event('172.16.0.2');
    const chunk = `${text.length.toString(16)}\r\n${text}\r\n`;
    response.socket?.write(chunk.slice(0, -14));
    setTimeout(() => response.socket?.write(chunk.slice(-14)), 20);
  }
  const seen = await waiting;
  expect(seen).toMatchObject({ address: '172.16.0.2', subscribers: 3 });
  expect(seen.last).toBeGreaterThanOrEqual(seen.first);
  await eventually(() => expect(subscribers.take()).toHaveLength(2));
  expect(subscribers.close()).toBe(0);
});
