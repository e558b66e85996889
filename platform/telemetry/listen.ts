import type { Server } from 'node:http';
import { TetherError } from '../../core/errors.ts';

export interface ListenOptions {
  /** '*': every address. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The option that names the port, for the error. */
  readonly flag: string;
  /** The option that names the host. Default: the same one. */
  readonly hostFlag?: string;
}

/** A port cannot be had; the message names the option, and says what to do. */
export class ListenError extends TetherError {
  readonly code = 'Listen';
  readonly port: number;
  constructor(options: ListenOptions, cause: NodeJS.ErrnoException) {
    super(`--${options.flag}: ${explain(options, cause)}`, { cause });
    this.name = 'ListenError';
    this.port = options.port;
  }
}

/**
 * Listens, and gives the port and the URL that others reach it by.
 *
 * @throws ListenError when the port is taken or may not be used.
 */
export function listenOn(
  server: Server,
  options: ListenOptions,
): Promise<{ readonly port: number; readonly url: string }> {
  const { host, port } = options;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new ListenError(options, error)));
    // Without a host Node takes every address, of both families where there are two.
    server.listen({ port, ...(host === '*' ? {} : { host }) }, () => {
      const address = server.address();
      const taken = typeof address === 'object' && address !== null ? address.port : port;
      resolve({ port: taken, url: `http://${urlHost(host)}:${taken}` });
    });
  });
}

function urlHost(host: string): string {
  if (host === '*') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

function explain(options: ListenOptions, cause: NodeJS.ErrnoException): string {
  const { host, port, flag, hostFlag = flag } = options;
  const where = host === '*' ? `port ${port}` : `port ${port} of ${host}`;
  switch (cause.code ?? '') {
    case 'EADDRINUSE':
      return `${where} is in use; choose another one, or 0 for any that is free`;
    case 'EACCES':
      return `this user may not listen on ${where}; choose one from 1024 on, or 0 for any free one`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine; set --${hostFlag} to one that is, or to "*"`;
    default:
      return `cannot listen on ${where}: ${cause.message}`;
  }
}
