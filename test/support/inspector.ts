import type { TetherProcess } from './processes.ts';

/** What a process holds. */
export interface Held {
  /** Bytes of live objects, after garbage collection. */
  readonly heap: number;
  /** `process.getActiveResourcesInfo()`, counted by name: sockets, timers, … */
  readonly resources: Readonly<Record<string, number>>;
  /** Listeners of `process`, by event. */
  readonly listeners: Readonly<Record<string, number>>;
}

/** A look into a running process, over the debugger that SIGUSR1 opens in every Node. */
export interface Inspector {
  held(): Promise<Held>;
  close(): void;
}

/** So that two processes may be looked into at once. To be in a process' NODE_OPTIONS. */
export const INSPECTABLE = '--inspect-port=127.0.0.1:0';

const LOOK = `(() => {
  const count = (names) => {
    const counts = {};
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  };
  const listeners = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
  return JSON.stringify({
    heap: process.memoryUsage().heapUsed,
    resources: count(process.getActiveResourcesInfo()),
    listeners: Object.fromEntries(listeners),
  });
})()`;

interface Answer {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: string } };
}

/** The process must have been started with INSPECTABLE. */
export async function inspect(tether: TetherProcess): Promise<Inspector> {
  process.kill(tether.pid, 'SIGUSR1');
  const [, url = ''] = await tether.untilLog(/Debugger listening on (ws:\S+)/);
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', reject, { once: true });
  });
  let calls = 0;
  const call = (method: string, params: object = {}): Promise<Answer> =>
    new Promise((resolve) => {
      const id = (calls += 1);
      const listener = (event: MessageEvent): void => {
        const answer = JSON.parse(String(event.data)) as Answer;
        if (answer.id !== id) return;
        socket.removeEventListener('message', listener);
        resolve(answer);
      };
      socket.addEventListener('message', listener);
      socket.send(JSON.stringify({ id, method, params }));
    });
  return {
    held: async () => {
      // Twice: what finalizers let go of is free at the second.
      await call('HeapProfiler.collectGarbage');
      await call('HeapProfiler.collectGarbage');
      const { result } = await call('Runtime.evaluate', { expression: LOOK, returnByValue: true });
      return JSON.parse(result?.result?.value ?? '{}') as Held;
    },
    close: () => socket.close(),
  };
}
