import { createServer } from 'node:net';
import { randomInt } from 'node:crypto';

// Below the range from which Linux takes the local port of outgoing connections (32768-60999), so
// that no connection takes the port between the probe and its use.
const LOWEST = 20_000;
const HIGHEST = 32_000;
const TRIES = 100;

/**
 * Gives a TCP port of 127.0.0.1 that nothing listens on. Another process may still take it first:
 * who uses it tries again with another one.
 *
 * @throws {Error} when a hundred random ports were all taken.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await canListen(port)) return port;
  }
  throw new Error(`no free TCP port found on 127.0.0.1 in ${LOWEST}-${HIGHEST}`);
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
