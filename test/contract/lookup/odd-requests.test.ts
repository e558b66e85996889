import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { openLookupRig, type Looker, type LookupRig } from '../../support/lookup-rig.ts';

let rig: LookupRig;
let looker: Looker;
beforeAll(async () => {
  rig = openLookupRig();
  await rig.link('east');
  looker = await rig.start();
});
afterAll(() => rig.close());

/** Sends these bytes, and gives all that comes back until the other side ends. */
function send(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(new URL(looker.url).port), '127.0.0.1', () => socket.write(text));
    socket.setEncoding('utf8');
    socket.setTimeout(30_000, () => socket.destroy(new Error(`no answer to ${text.slice(0, 80)}`)));
    socket.on('data', (chunk: string) => (answer += chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') resolve(answer);
      else reject(error);
    });
    socket.on('close', () => resolve(answer));
  });
}

const get = (url: string, headers = ''): Promise<string> =>
  send(`GET ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`);

const bodyOf = (answer: string): unknown =>
  JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));

const PIECES = 'v1 clusters east services shop web endpoints .. . % %00 %2e%2e %ff ; * ? &'
  .split(' ')
  .concat('', 'watch=true', 'port=80', 'max-age=1', '__proto__', 'a'.repeat(300));

test('any URL is answered with JSON, and the process goes on', async () => {
  const piece = fc.constantFrom(...PIECES);
  const noise = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((n) => String.fromCharCode(n)),
  });
  const url = fc.array(fc.oneof(piece, noise), { maxLength: 10 }).map((all) => `/${all.join('/')}`);
  await fc.assert(
    fc.asyncProperty(url, async (path) => {
      const answer = await get(path);
      expect(answer).toMatch(/^HTTP\/1\.1 (200|400|404|414|503) /);
      expect(bodyOf(answer)).toEqual(expect.any(Object));
    }),
    { numRuns: 300 },
  );
  expect((await looker.get('/v1/clusters')).status).toBe(200);
});

test.each([
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['another version', 'GET / HTTP/9.9\r\n\r\n', 400],
  ['a header without a name', 'GET / HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n', 400],
  [
    'a URL that is too long',
    `GET /${'a'.repeat(3_000)} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    414,
  ],
  [
    'headers that are too long',
    `GET / HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(9_000)}\r\n\r\n`,
    431,
  ],
])('%s is refused with a sentence', async (_, text, status) => {
  const answer = await send(text);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(bodyOf(answer)).toMatchObject({ error: expect.any(String), code: expect.any(String) });
});

test('a stream is not begun for a client that could not read it', async () => {
  const url = '/v1/clusters/east/services/shop/web/endpoints?watch=true';
  const answer = await send(`GET ${url} HTTP/1.0\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 400 /);
});

test('a head that does not come to an end is given up', async () => {
  const answer = await send('GET /v1/clusters HTTP/1.1\r\nhost: x\r\n');
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
}, 40_000);
