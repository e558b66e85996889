import { connect, type Socket } from 'node:net';

/** One answer over a connection of `RawConnection`. */
export interface RawAnswer {
  /** 0: the connection ended first. */
  readonly status: number;
  readonly body: string;
}

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;

/** The text of a GET over HTTP/1.1. */
export function requestText(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n\r\n`;
}

/**
 * A keep-alive connection that has one request under way at a time, with as little work an answer as
 * can be: what makes the load shares the machine with what is measured.
 */
export class RawConnection {
  readonly #port: number;
  #socket: Socket | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  /** Of the whole answer, once its head is known; NaN: it comes in chunks. */
  #expected: number | undefined;
  #bodyAt = 0;
  #settle: ((answer: RawAnswer) => void) | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a request and gives its answer; never rejects. */
  ask(request: string): Promise<RawAnswer> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#opened().write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #opened(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#finish({ status: 0, body: '' });
    });
    this.#socket = socket;
    return socket;
  }

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    const whole = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    if (this.#chunks.length > 1) this.#chunks = [whole];
    if (this.#expected === undefined) {
      const headEnd = whole.indexOf(HEAD_END);
      if (headEnd < 0) return;
      this.#bodyAt = headEnd + HEAD_END.length;
      const length = /\r\ncontent-length: (\d+)/i.exec(whole.toString('latin1', 0, headEnd))?.[1];
      this.#expected = length === undefined ? NaN : this.#bodyAt + Number(length);
    }
    const done = Number.isNaN(this.#expected)
      ? whole.indexOf(LAST_CHUNK, this.#bodyAt - 2) >= 0
      : this.#size >= this.#expected;
    if (!done) return;
    const status = Number(whole.toString('latin1', STATUS_AT, STATUS_AT + 3));
    this.#finish({ status, body: whole.toString('latin1', this.#bodyAt) });
  }

  #finish(answer: RawAnswer): void {
    const settle = this.#settle;
    this.#settle = undefined;
    this.#chunks = [];
    this.#size = 0;
    this.#expected = undefined;
    settle?.(answer);
  }
}
