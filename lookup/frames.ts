import type { Difference } from './diff.ts';
import type { EndpointSet } from './endpoint-set.ts';
import { factsText } from './answers.ts';
import type { AnswerStatus, Known, Refusal } from './known.ts';

/*
 * Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as chunks of an
 * HTTP/1.1 response, ready for the socket: each is made once, however many it goes to.
 */

const CHUNK_END = Buffer.from('\r\n');
/** Keeps a connection alive that has nothing to say; no event. */
export const HEARTBEAT = chunk(':\n\n');
/** The end of a response. */
export const LAST_CHUNK = '0\r\n\r\n';

function chunk(text: string): Buffer {
  const body = Buffer.from(text);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, CHUNK_END]);
}

const EVENT_END = Buffer.from('\n\n\r\n');

/**
 * The whole set, in pieces: the large one is the same for all who get it.
 *
 * @param retryMs when to come back after the connection broke; null: as told before.
 */
export function fullFrame(
  set: EndpointSet,
  tail: Buffer,
  status: AnswerStatus,
  { now, retryMs }: { readonly now: number; readonly retryMs: number | null },
): readonly Buffer[] {
  const retry = retryMs === null ? '' : `retry: ${retryMs}\n`;
  const head = Buffer.from(`event: full\nid: ${set.version}\n${retry}data: ${status.head(now)}`);
  const size = head.length + tail.length + '\n\n'.length;
  return [Buffer.from(`${size.toString(16)}\r\n`), head, tail, EVENT_END];
}

/** What changed since `before`; facts of the Service only where they did. */
export function changeFrame(
  { before, after }: { readonly before: EndpointSet; readonly after: EndpointSet },
  { add, remove }: Difference,
  status: AnswerStatus,
  now: number,
): Buffer {
  const sameFacts = JSON.stringify(before.facts) === JSON.stringify(after.facts);
  const facts = sameFacts ? `"version":"${after.version}"` : factsText(after);
  const texts = add.map(({ text }) => text).join(',');
  const data = `${status.head(now)},${facts},"add":[${texts}],"remove":${JSON.stringify(remove)}}`;
  return chunk(`event: change\nid: ${after.version}\ndata: ${data}\n\n`);
}

/** How good the set is became another, and nothing else did; or there is no set yet. */
export function stateFrame(known: Known, now: number, retryMs: number | null): Buffer {
  const retry = retryMs === null ? '' : `retry: ${retryMs}\n`;
  return chunk(`event: state\n${retry}data: ${stateText(known, now)}\n\n`);
}

function stateText(known: Known, now: number): string {
  if (known.kind === 'set') {
    return `${known.status.head(now)},"answers":true,"version":"${known.set.version}"}`;
  }
  const { error, code } = known.refusal;
  const rest = JSON.stringify({ answers: false, error, code });
  return known.status === null ? rest : `${known.status.head(now)},${rest.slice(1)}`;
}

/** What was asked for exists no more; the response ends with this. */
export function goneFrame({ error, code }: Refusal): Buffer {
  const event = chunk(`event: gone\ndata: ${JSON.stringify({ error, code })}\n\n`);
  return Buffer.concat([event, Buffer.from(LAST_CHUNK)]);
}
