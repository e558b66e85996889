import { connect, type Socket } from 'node:net';
import { monotonicMs } from '../clock.ts';
import { requestText } from './raw-http.ts';
import type { Sighting, Target } from './reader-api.ts';

/** Connections that are opened at once: more would overflow the server's backlog. */
const OPENING = 100;
/** Addresses of changes, as bench/linked/doubles-main.ts and real-changes.ts make them: each is new. */
const ADDRESS = /"172\.(\d+)\.(\d+)\.(\d+)"/g;

interface Subscriber {
  readonly socket: Socket;
  /** The last address seen, as a number: later changes have greater ones. */
  highest: number;
  /** The line that has not ended yet. */
  rest: string;
}

interface Seen {
  subscribers: number;
  readonly first: number;
  last: number;
}

/** Many watches of one path, each a socket that keeps nothing but where it stands. */
export class Subscribers {
  readonly #all: Subscriber[] = [];
  #seen = new Map<string, Seen>();
  #waiting:
    { readonly address: string; readonly resolve: (sighting: Sighting) => void } | undefined;
  #lost = 0;
  #ending = false;

  /** Resolves once each has got its first event. */
  async open(target: Target, count: number): Promise<void> {
    for (let left = count; left > 0; left -= OPENING) {
      const some = Array.from({ length: Math.min(left, OPENING) }, () => this.#open(target));
      await Promise.all(some);
    }
  }

  async untilSeen(address: string, timeoutMs: number): Promise<Sighting> {
    const seen = this.#seen.get(address);
    if (seen !== undefined && seen.subscribers >= this.#all.length) return { address, ...seen };
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const { subscribers = 0 } = this.#seen.get(address) ?? {};
        const shares = `${subscribers} of ${this.#all.length}`;
        reject(new Error(`${shares} subscribers saw ${address} in ${timeoutMs} ms`));
      }, timeoutMs);
      const done = (sighting: Sighting): void => {
        clearTimeout(timer);
        resolve(sighting);
      };
      this.#waiting = { address, resolve: done };
    });
  }

  take(): Sighting[] {
    const taken = [...this.#seen].map(([address, seen]) => ({ address, ...seen }));
    this.#seen = new Map();
    return taken;
  }

  /** Gives how many had ended by themselves. */
  close(): number {
    this.#ending = true;
    for (const { socket } of this.#all) socket.destroy();
    return this.#lost;
  }

  #open({ port, path }: Target): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1' });
      const subscriber: Subscriber = { socket, highest: 0, rest: '' };
      this.#all.push(subscriber);
      socket.write(requestText(path));
      socket.on('data', (chunk: Buffer) => {
        const text = subscriber.rest + chunk.toString('latin1');
        const end = text.lastIndexOf('\n') + 1;
        subscriber.rest = text.slice(end);
        if (!text.startsWith('HTTP/1.1 200', 0) && text.startsWith('HTTP/')) {
          reject(new Error(`a watch was refused: ${text.slice(0, 300)}`));
        }
        if (/^event: full/m.test(text)) resolve();
        this.#look(subscriber, text.slice(0, end));
      });
      socket.on('error', reject);
      socket.on('close', () => {
        if (!this.#ending) this.#lost += 1;
        reject(new Error('a watch ended before its first event'));
      });
    });
  }

  #look(subscriber: Subscriber, lines: string): void {
    for (const [quoted, a, b, c] of lines.matchAll(ADDRESS)) {
      const number = (Number(a) << 16) | (Number(b) << 8) | Number(c);
      if (number <= subscriber.highest) continue;
      subscriber.highest = number;
      this.#count(quoted.slice(1, -1));
    }
  }

  #count(address: string): void {
    const at = monotonicMs();
    const seen = this.#seen.get(address);
    const now: Seen = seen ?? { subscribers: 0, first: at, last: at };
    now.subscribers += 1;
    now.last = at;
    if (seen === undefined) this.#seen.set(address, now);
    if (this.#waiting?.address !== address || now.subscribers < this.#all.length) return;
    this.#waiting.resolve({ address, ...now });
    this.#waiting = undefined;
  }
}
