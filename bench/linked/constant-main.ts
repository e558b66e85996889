import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serveApi } from '../agent/rpc.ts';
import type { ConstantApi } from './constant.ts';

// A process of its own, forked by linked/constant.ts: the least that a look-up server could do.

const api: ConstantApi = {
  serve: async (bytes) => {
    const body = 'x'.repeat(bytes);
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const server = createServer((_request, response) => {
      response.writeHead(200, headers);
      response.end(body);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  },
};

serveApi(api);
