import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { forkApi, type Forked } from '../agent/rpc.ts';

/** What the process between does, for all connections that go through it. */
export interface WayApi {
  /** Listens in front of a port of the loopback; gives its own. */
  open(port: number): Promise<number>;
  /** What clients send arrives so much later from now on, ms. */
  slow(ms: number): Promise<void>;
  /** Cuts every connection, and each new one at once, until `restore`. */
  cut(): Promise<void>;
  restore(): Promise<void>;
}

/** A way to an API server that can be made slow or closed, in a process of its own. */
export type Way = WayApi &
  Forked & { /** Of those who go this way. */ readonly kubeconfig: string };

const SERVER = /https:\/\/127\.0\.0\.1:(\d+)/;

/** Opens a way to the server of a kubeconfig of the control plane; `dir` gets its kubeconfig. */
export async function openWay(kubeconfig: string, dir: string): Promise<Way> {
  const methods = { open: true, slow: true, cut: true, restore: true } as const;
  const main = join(import.meta.dirname, 'way-main.ts');
  const way = forkApi<WayApi>(main, methods, () => undefined);
  const text = readFileSync(kubeconfig, 'utf8');
  const port = await way.open(Number(SERVER.exec(text)?.[1]));
  const path = join(dir, 'way.kubeconfig');
  writeFileSync(path, text.replace(SERVER, `https://127.0.0.1:${port}`), { mode: 0o600 });
  return { ...way, kubeconfig: path };
}
