import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface OldRedis {
  readonly url: string;
  stop(): Promise<void>;
}

/** Stands for a Redis that is too old to be had any more: it tells its version, and says OK to all else. */
export async function startOldRedis(version: string): Promise<OldRedis> {
  const info = `redis_version:${version}\r\nredis_mode:standalone\r\nrole:master\r\nloading:0\r\n`;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let read = '';
    socket.on('data', (chunk: Buffer) => {
      const { names, rest } = commandsOf(read + chunk.toString());
      read = rest;
      for (const name of names) {
        socket.write(name === 'info' ? `$${info.length}\r\n${info}\r\n` : '+OK\r\n');
      }
    });
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

/** The names of whole commands, each `*WORDS` and every word behind its length; and what is left. */
function commandsOf(text: string): { readonly names: readonly string[]; readonly rest: string } {
  const names: string[] = [];
  let lines = text.split('\r\n');
  for (;;) {
    const count = 1 + 2 * Number(lines[0]?.slice(1));
    if (lines.length <= count) return { names, rest: lines.join('\r\n') };
    names.push(lines[2]?.toLowerCase() ?? '');
    lines = lines.slice(count);
  }
}
