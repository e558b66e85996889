import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { serveApi } from '../agent/rpc.ts';
import type { WayApi } from './way.ts';

// A process of its own, forked by way/way.ts: passes bytes on, late or not at all.

let lateMs = 0;
let closed = false;
const open = new Set<Socket>();

/** Each chunk at its own time: a call takes so much longer, however many others are under way. */
function pass(from: Socket, to: Socket, ms: () => number): void {
  from.on('data', (chunk: Buffer) => {
    const write = (): void => void (to.destroyed || to.write(chunk));
    if (ms() === 0) write();
    else setTimeout(write, ms());
  });
  from.on('close', () => to.destroy()).on('error', () => undefined);
}

function join(client: Socket, port: number): void {
  if (closed) return void client.destroy();
  const server = connect({ port, host: '127.0.0.1', noDelay: true });
  client.setNoDelay(true);
  for (const socket of [client, server]) {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  }
  pass(client, server, () => lateMs);
  pass(server, client, () => 0);
}

const api: WayApi = {
  open: async (port) => {
    const server = createServer((client) => join(client, port));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  },
  slow: async (ms) => void (lateMs = ms),
  cut: async () => {
    closed = true;
    for (const socket of open) socket.destroy();
  },
  restore: async () => void (closed = false),
};

serveApi(api);
