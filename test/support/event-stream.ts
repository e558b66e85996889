import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { eventually } from './eventually.ts';

/** One server-sent event as a client sees it; `data` is parsed. */
export interface SeenEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A response of server-sent events, being read. */
export interface EventStream {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** All events so far. */
  readonly events: readonly SeenEvent[];
  /** Id of the last event that had one. */
  lastId(): string;
  /** Lines that are comments. */
  comments(): number;
  /** Bytes of the body so far. */
  bytes(): number;
  /** Waits until an event like this has come, and gives the last such. */
  until(matches: (event: SeenEvent) => boolean, timeoutMs?: number): Promise<SeenEvent>;
  /** Resolves once the response has ended in order. */
  readonly ended: Promise<void>;
  /** Reads no more until `resume`. */
  pause(): void;
  resume(): void;
  close(): void;
}

export interface OpenOptions {
  readonly headers?: Readonly<Record<string, string>>;
}

/** Opens a stream; a status other than 200 is given like any other. */
export async function openEventStream(
  url: string,
  options: OpenOptions = {},
): Promise<EventStream> {
  const sent = request(url, { agent: false, headers: options.headers ?? {} });
  const response = await responseTo(sent);
  const reader = createReader();
  response.setEncoding('utf8');
  response.on('data', (text: string) => reader.take(text));
  const ended = new Promise<void>((resolve) => response.on('end', resolve));
  response.on('error', () => undefined);
  const { events } = reader;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    lastId: reader.lastId,
    comments: reader.comments,
    bytes: reader.bytes,
    ended,
    until: (matches, timeoutMs = 20_000) =>
      eventually(
        () => {
          const found = events.findLast(matches);
          if (found !== undefined) return found;
          const last = JSON.stringify(events.at(-1));
          throw new Error(`no such event among ${events.length}; the last is ${last}`);
        },
        { timeoutMs, intervalMs: 5 },
      ),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void sent.destroy(),
  };
}

function responseTo(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.end();
  });
}

function createReader() {
  const events: SeenEvent[] = [];
  let rest = '';
  let id = '';
  let comments = 0;
  let bytes = 0;
  const dispatch = (block: string): void => {
    let event = '';
    let data = '';
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (name === '') comments += 1;
      else if (name === 'event') event = value;
      else if (name === 'data') data = value;
      else if (name === 'id') id = value;
    }
    if (data === '') return;
    events.push({ event, id, data: JSON.parse(data) as SeenEvent['data'] });
  };
  return {
    events,
    lastId: () => id,
    comments: () => comments,
    bytes: () => bytes,
    take: (text: string) => {
      bytes += text.length;
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      blocks.forEach(dispatch);
    },
  };
}
