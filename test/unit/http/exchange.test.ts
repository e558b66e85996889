import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { exchange, jsonAnswer, type HttpHandler } from '../../../platform/http/exchange.ts';
import { startHttpFront, type HttpFront } from '../../../platform/http/server.ts';

let front: HttpFront | undefined;
afterEach(async () => {
  await front?.close(0);
  front = undefined;
});

interface Opened {
  readonly port: number;
  /** What became of each exchange, in the order of their ends: a status, null, or an error's text. */
  readonly ended: unknown[];
}

async function open(handle: HttpHandler): Promise<Opened> {
  const ended: unknown[] = [];
  front = await startHttpFront(
    (incoming, response) => {
      exchange(incoming, response, handle).then(
        (status) => ended.push(status),
        (error: unknown) => ended.push(String(error)),
      );
    },
    { host: '127.0.0.1', port: 0, flag: 'test-addr' },
  );
  return { port: front.port, ended };
}

/** Says how long the body was; -1: too long. */
const lengthOf: HttpHandler = ({ body }) =>
  Promise.resolve(jsonAnswer(200, { length: body?.length ?? -1 }));

async function post(port: number, body: Buffer, chunked = false) {
  const sent = request({ port, host: '127.0.0.1', method: 'POST', agent: false });
  if (!chunked) sent.setHeader('content-length', body.length);
  sent.end(body);
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(text) };
}

test.each([
  ['of no length', 0, 0],
  ['as long as may be', 4_096, 4_096],
  ['a byte longer', 4_097, -1],
  ['far longer', 900_000, -1],
])('a body %s', async (_, bytes, length) => {
  const { port } = await open(lengthOf);
  for (const chunked of [false, true]) {
    const answer = await post(port, Buffer.alloc(bytes, 'x'), chunked);
    expect([answer.status, answer.body]).toEqual([200, { length }]);
  }
});

test('a body without an end is answered all the same, and its connection given up', async () => {
  const { port, ended } = await open(lengthOf);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999\r\n\r\n');
  const chunk = Buffer.alloc(65_536, 'x');
  const closed = new Promise<void>((resolve) => void socket.on('close', () => resolve()));
  const send = (): void => {
    if (!socket.destroyed) socket.write(chunk, () => setImmediate(send));
  };
  send();
  await closed;
  const { status } = await post(port, Buffer.alloc(0));
  expect([status, ended]).toEqual([200, [200, 200]]);
});

test('a client that goes while it waits is noticed', async () => {
  const gone = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const { port, ended } = await open(async (_, signal) => {
    begun.resolve();
    await once(signal, 'abort');
    gone.resolve();
    return jsonAnswer(200, {});
  });
  const socket = connect(port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
  await begun.promise;
  socket.destroy();
  await gone.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(ended).toEqual([null]);
});

test('a client that goes in the middle of its request never reaches the handler', async () => {
  let calls = 0;
  const { port, ended } = await open((request, signal) => {
    calls += 1;
    return lengthOf(request, signal);
  });
  const socket = connect(port, '127.0.0.1');
  socket.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nabc');
  await once(socket.resume(), 'close');
  expect((await post(port, Buffer.alloc(0))).status).toBe(200);
  expect([calls, ended]).toEqual([1, [null, 200]]);
});

test('a fault is 500 without a word about it, and is told to whoever asked for the exchange', async () => {
  const { port, ended } = await open(() => Promise.reject(new Error('the password is x')));
  const { status, body } = await post(port, Buffer.alloc(0));
  expect(status).toBe(500);
  expect(body).toEqual({ code: 'Internal', error: expect.not.stringContaining('password') });
  expect(ended).toEqual(['Error: the password is x']);
});

test('a stop waits for what is under way, and for nobody who merely stays connected', async () => {
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const { port } = await open(async () => {
    begun.resolve();
    await release.promise;
    return jsonAnswer(200, {});
  });
  const idle = connect(port, '127.0.0.1');
  const busy = connect(port, '127.0.0.1');
  busy.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n');
  let answer = '';
  busy.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  await begun.promise;
  // A minute: what the test would take if somebody were waited for.
  const closed = front?.close(60_000);
  release.resolve();
  await closed;
  for (const socket of [busy, idle]) if (!socket.destroyed) await once(socket, 'close');
  expect(answer).toContain('200 OK');
}, 30_000);
