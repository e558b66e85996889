import type { Dispatcher } from 'undici';
import { loadKubeConfig } from '../../platform/kube/kubeconfig.ts';
import { createTransport, type Transport } from '../../platform/kube/transport.ts';

/** One request, its body encoded already. */
export interface RawRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** Content type of the body. */
  readonly type?: string;
  readonly body?: string | Uint8Array;
  /** Statuses besides 2xx that are fine: 409 for an object that is there already. */
  readonly also?: number;
}

/**
 * Requests for making load: the least work a request that Node allows, as this process shares the
 * machine with what is measured. Answers are read but not parsed.
 */
export interface RawClient {
  /** @throws {Error} with the server's answer for any status but 2xx and `also`. */
  send(request: RawRequest): Promise<void>;
  /** As `send`, and gives the body. */
  read(request: RawRequest): Promise<Buffer>;
  close(): Promise<void>;
}

const MAX_ANSWER_BYTES = 1024 * 1024 * 1024;
const ERROR_CHARACTERS = 500;

/** Opens nothing yet; keeps its connections alive. */
export async function openRawClient(kubeconfig: string, connections: number): Promise<RawClient> {
  const access = await loadKubeConfig({ path: kubeconfig, env: {} });
  const transport = createTransport(access, { connections, maxAnswerBytes: MAX_ANSWER_BYTES });
  return {
    send: async (request) => void (await exchange(transport, request, false)),
    read: (request) => exchange(transport, request, true),
    close: () => transport.close(),
  };
}

async function exchange(transport: Transport, request: RawRequest, keep: boolean): Promise<Buffer> {
  const headers = await transport.headers(request.type ?? '');
  return new Promise((resolve, reject) => {
    const { method, path, body = null } = request;
    const answer = new Answer(request, keep, resolve, reject);
    transport
      .requests()
      .dispatch({ origin: transport.origin, method, path, headers, body }, answer);
  });
}

/** The receiving end of one request. */
class Answer implements Dispatcher.DispatchHandler {
  readonly #request: RawRequest;
  readonly #keep: boolean;
  readonly #resolve: (body: Buffer) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #status = 0;

  constructor(
    request: RawRequest,
    keep: boolean,
    resolve: (body: Buffer) => void,
    reject: (error: Error) => void,
  ) {
    this.#request = request;
    this.#keep = keep;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number): void {
    this.#status = status;
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#keep || !this.#ok()) this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = Buffer.concat(this.#chunks);
    if (this.#ok()) return this.#resolve(body);
    const { method, path } = this.#request;
    const said = body.toString().slice(0, ERROR_CHARACTERS);
    this.#reject(new Error(`${method} ${path}: ${this.#status} ${said}`));
  }

  onResponseError(_controller: unknown, error: Error): void {
    const { method, path } = this.#request;
    this.#reject(new Error(`${method} ${path}: ${error.message}`, { cause: error }));
  }

  #ok(): boolean {
    return (this.#status >= 200 && this.#status < 300) || this.#status === this.#request.also;
  }
}
