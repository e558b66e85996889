import type { IncomingMessage, ServerResponse } from 'node:http';

/*
 * A request and its answer as plain data: what handles them needs no socket, and runs behind node:http,
 * behind a cloud's own front, or in a test.
 */

/** A request that was read to its end. */
export interface HttpRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  /** null: longer than `MAX_BODY_BYTES`. */
  readonly body: string | null;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Answers a request; never rejects for anything that a client can do.
 *
 * @param gone aborted when the client is no longer there.
 */
export type HttpHandler = (request: HttpRequest, gone: AbortSignal) => Promise<HttpAnswer>;

/** What is sent to us is a key: 317 characters at most. */
export const MAX_BODY_BYTES = 4_096;
/** A body that is too long is read so far, so that its sender sees the answer and no reset. */
const MAX_SKIPPED_BYTES = 1_048_576;

export function jsonAnswer(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  const type = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { status, headers: { ...type, ...headers }, body: `${JSON.stringify(body)}\n` };
}

/** Why a request is not served: a sentence for people, and a word for programs. */
export function refusal(
  status: number,
  code: string,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return jsonAnswer(status, { error, code }, headers);
}

/** `Retry-After` is in whole seconds, and at least one (RFC 9110, 10.2.3). */
export function retryAfter(ms: number): Readonly<Record<string, string>> {
  return { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) };
}

/**
 * Reads a request, has it answered and sends the answer. Gives the status that was sent; null when the
 * client was gone before.
 */
export async function exchange(
  incoming: IncomingMessage,
  response: ServerResponse,
  handle: HttpHandler,
): Promise<number | null> {
  const gone = new AbortController();
  response.on('close', () => gone.abort(new Error('the client is gone')));
  try {
    const answer = await handle(await readRequest(incoming), gone.signal);
    if (response.destroyed) return null;
    send(incoming, response, answer);
    return answer.status;
  } catch (error) {
    // Nobody is left who could be told.
    if (gone.signal.aborted || error === BROKEN_OFF) return null;
    send(incoming, response, refusal(500, 'Internal', 'a fault of Tether itself: see its log'));
    throw error;
  }
}

function send(incoming: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
  const { status, headers, body } = answer;
  // What was not read to its end leaves the connection of no use.
  const close = incoming.complete ? {} : { connection: 'close' };
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...headers, ...length, ...close });
  response.end(incoming.method === 'HEAD' ? undefined : body);
}

async function readRequest(incoming: IncomingMessage): Promise<HttpRequest> {
  const { method = '', url = '/', headers } = incoming;
  const mark = url.indexOf('?');
  return {
    method,
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    authorization: headers.authorization,
    contentType: headers['content-type'],
    body: await readBody(incoming),
  };
}

const BROKEN_OFF = new Error('the connection ended before the request did');

/** @throws BROKEN_OFF */
function readBody(incoming: IncomingMessage): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
      else if (bytes > MAX_SKIPPED_BYTES) {
        incoming.pause();
        resolve(null);
      }
    });
    incoming.on('end', () => {
      resolve(bytes > MAX_BODY_BYTES ? null : Buffer.concat(chunks).toString());
    });
    for (const end of ['error', 'close']) incoming.on(end, () => reject(BROKEN_OFF));
  });
}
