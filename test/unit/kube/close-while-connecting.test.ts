import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { createKubeClient, type KubeClient } from '../../../platform/kube/client.ts';
import { staticCredentials } from '../../../platform/kube/credentials.ts';
import { eventually } from '../../support/eventually.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A server that takes connections and never says a word; gives whether each still stands, in order. */
async function startMute(): Promise<{ port: number; standing: () => boolean[] }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    // Reads, or it would not notice that the other side has gone.
    socket.resume();
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return { port, standing: () => sockets.map((socket) => !socket.closed) };
}

interface Way {
  readonly access: (port: number) => { readonly server: string; readonly proxyUrl?: string };
  readonly ask: (client: KubeClient) => Promise<unknown>;
}

const direct: Way['access'] = (port) => ({ server: `https://127.0.0.1:${port}` });
const proxied: Way['access'] = (port) => ({
  server: 'https://east.example:6443',
  proxyUrl: `http://127.0.0.1:${port}`,
});
const get: Way['ask'] = (client) => client.get('/version', { what: 'ask', timeoutMs: 60_000 });
const watch: Way['ask'] = async (client) => {
  const options = { what: 'ask', resourceVersion: '1', timeoutSeconds: 60, idleMs: 60_000 };
  for await (const batch of client.watch('/api/v1/services', options)) return batch;
  return undefined;
};

test.each<[string, Way]>([
  ['a request that waits for TLS', { access: direct, ask: get }],
  ['a watch that waits for TLS', { access: direct, ask: watch }],
  ['a request that waits for a proxy', { access: proxied, ask: get }],
  ['a watch that waits for a proxy', { access: proxied, ask: watch }],
])('the end of a client cuts %s', async (_name, { access, ask }) => {
  const mute = await startMute();
  const begin = (): { client: KubeClient; failed: Promise<unknown> } => {
    const credentials = staticCredentials({});
    const client = createKubeClient({ ...access(mute.port), insecure: false, credentials });
    cleanups.push(() => client.close());
    return { client, failed: expect(ask(client)).rejects.toThrow(/^ask: /) };
  };
  const first = begin();
  await eventually(() => expect(mute.standing()).toEqual([true]));
  const second = begin();
  await eventually(() => expect(mute.standing()).toEqual([true, true]));
  await second.client.close();
  await second.failed;
  // What a time limit ends, it ends in the order of the beginnings: the first still stands.
  await eventually(() => expect(mute.standing()).toEqual([true, false]));
  await first.client.close();
  await first.failed;
  await eventually(() => expect(mute.standing()).toEqual([false, false]));
});
