import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { fromRun } from './run.ts';

/** A TCP proxy on the loopback that can be told to misbehave as networks do. */
export interface TcpProxy {
  readonly port: number;
  /** Bytes that clients have sent while the proxy was frozen: a request hangs in it. */
  readonly heldBytes: number;
  /** Connections that stand. */
  readonly open: number;
  /** Cuts every connection, and each new one at once, until `restore`. */
  cut(): void;
  /** Keeps connections open and takes new ones, but lets nothing through either way. */
  freeze(): void;
  /** Lets everything through so much later, ms. */
  slow(ms: number): void;
  /** Works again; what was held goes on its way. */
  restore(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** What was held back, in order. */
  readonly held: (() => void)[];
}

type Mode = { readonly kind: 'pass'; readonly ms: number } | { readonly kind: 'cut' | 'freeze' };

/** Starts a proxy in front of `127.0.0.1:target`. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const timers = new Set<NodeJS.Timeout>();
  let mode: Mode = { kind: 'pass', ms: 0 };
  let heldBytes = 0;

  const later = (ms: number, act: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, ms);
    timers.add(timer);
  };
  const forward = (pair: Pair, to: Socket, chunk: Buffer): void => {
    const write = (): void => void (to.destroyed || to.write(chunk));
    if (mode.kind === 'freeze') {
      if (to === pair.server) heldBytes += chunk.length;
      pair.held.push(write);
    } else if (mode.kind === 'pass' && mode.ms > 0) later(mode.ms, write);
    else write();
  };
  const end = (pair: Pair): void => {
    pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  };
  const server = createServer((client) => {
    if (mode.kind === 'cut') return void client.destroy();
    const pair: Pair = { client, server: connect(target, '127.0.0.1'), held: [] };
    pairs.add(pair);
    client.on('data', (chunk: Buffer) => forward(pair, pair.server, chunk));
    pair.server.on('data', (chunk: Buffer) => forward(pair, client, chunk));
    for (const socket of [client, pair.server]) {
      socket.on('error', () => undefined).on('close', () => end(pair));
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const restore = (): void => {
    mode = { kind: 'pass', ms: 0 };
    heldBytes = 0;
    for (const pair of pairs) for (const write of pair.held.splice(0)) write();
  };
  return {
    port: (server.address() as AddressInfo).port,
    get heldBytes() {
      return heldBytes;
    },
    get open() {
      return pairs.size;
    },
    cut: () => {
      mode = { kind: 'cut' };
      for (const pair of pairs) end(pair);
    },
    freeze: () => {
      mode = { kind: 'freeze' };
    },
    slow: (ms) => {
      mode = { kind: 'pass', ms };
    },
    restore,
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      for (const pair of pairs) end(pair);
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}

/** A proxy in front of the API server of this run. */
export interface ApiProxy {
  readonly proxy: TcpProxy;
  /** Path of a kubeconfig that goes through it. */
  readonly kubeconfig: string;
  close(): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { server: string } }[];
}

/** Starts it, and writes the kubeconfig for those who are to go through it. */
export async function startApiProxy(): Promise<ApiProxy> {
  const config = parse(readFileSync(fromRun('kubeconfig'), 'utf8')) as Kubeconfig;
  const [entry] = config.clusters;
  if (entry === undefined) throw new Error('the kubeconfig of this run names no cluster');
  const proxy = await startTcpProxy(Number(new URL(entry.cluster.server).port));
  entry.cluster.server = `https://127.0.0.1:${proxy.port}`;
  const dir = mkdtempSync(join(tmpdir(), 'tether-proxy-'));
  const kubeconfig = join(dir, 'kubeconfig');
  writeFileSync(kubeconfig, stringify(config), { mode: 0o600 });
  const close = async (): Promise<void> => {
    await proxy.close();
    rmSync(dir, { recursive: true });
  };
  return { proxy, kubeconfig, close };
}
