import type { ApiFailure } from '../../core/errors.ts';
import { ApiError } from '../../core/errors.ts';

/** Long runs of token-like characters: whoever sent the text may have echoed a credential. */
const TOKEN_LIKE = /[A-Za-z0-9_\-+/=.]{40,}/g;

/**
 * The first 80 printable characters of a text that is not what it should be, on one line, with
 * anything that looks like a credential cut out.
 */
export function excerpt(text: string): string {
  const line = text
    .slice(0, 2000)
    // oxlint-disable-next-line no-control-regex -- that is the point
    .replace(/[\u0000-\u001f\u007f-\u009f\s\ufffd]+/g, ' ')
    .replace(TOKEN_LIKE, '[…]')
    .trim();
  return line.length > 80 ? `${line.slice(0, 80)}…` : line;
}

/**
 * Says what a body that should have been JSON is instead. JSON that was cut or damaged is never
 * quoted: it may be a piece of a Secret.
 */
export function describeGarbage(body: string, contentType: string): string {
  const start = body.trimStart().slice(0, 1);
  if (start === '') return 'an empty body where JSON was expected';
  // Go's own handlers answer in one plain line, such as `404 page not found`.
  if (contentType.startsWith('text/plain')) return excerpt(body);
  if (start === '{' || start === '[') return `damaged or cut JSON (${body.length} characters)`;
  const type = contentType === '' ? '' : ` (${excerpt(contentType)})`;
  return `not JSON${type}, is this an API server? It begins: ${JSON.stringify(excerpt(body))}`;
}

interface StatusBody {
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly details?: { readonly causes?: unknown; readonly retryAfterSeconds?: unknown } | null;
}

/** Milliseconds of a Retry-After header (seconds or a date); undefined when there is none. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === '') return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

/** What the failure of an HTTP answer was: a parsed `Status`, or one line about what came instead. */
export function failureOfAnswer(
  status: number,
  contentType: string,
  retryAfterMs: number | undefined,
  body: string,
): ApiFailure {
  const parsed = parseStatus(body);
  if (parsed !== undefined) return failureOfStatus(parsed, status, retryAfterMs);
  const redirect = status >= 300 && status < 400;
  const message = redirect
    ? 'a redirect, which is not followed; give the API server’s own address'
    : describeGarbage(body, contentType);
  return { status, reason: '', message, causes: [], ...retry(retryAfterMs) };
}

/** The error that an ERROR event of a watch carries. */
export function errorOfEvent(what: string, object: unknown): ApiError {
  if (!isStatusBody(object)) {
    const message = 'the watch sent an ERROR event that is not a Status';
    return new ApiError(what, { status: 500, reason: '', message, causes: [] });
  }
  const status = typeof object.code === 'number' ? object.code : 500;
  return new ApiError(what, failureOfStatus(object, status, undefined));
}

function failureOfStatus(
  body: StatusBody,
  status: number,
  retryAfterMs: number | undefined,
): ApiFailure {
  const seconds = body.details?.retryAfterSeconds;
  return {
    status,
    reason: text(body.reason),
    message: oneLine(text(body.message)),
    causes: causesOf(body.details?.causes),
    ...retry(
      retryAfterMs ?? (typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined),
    ),
  };
}

function causesOf(causes: unknown): ApiFailure['causes'] {
  if (!Array.isArray(causes)) return [];
  return causes.slice(0, 50).flatMap((cause: unknown) => {
    if (typeof cause !== 'object' || cause === null) return [];
    const { reason, field, message } = cause as Record<string, unknown>;
    return [{ reason: text(reason), field: text(field), message: oneLine(text(message)) }];
  });
}

function parseStatus(body: string): StatusBody | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return isStatusBody(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isStatusBody(value: unknown): value is StatusBody {
  return (
    typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'Status'
  );
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A Status message may be long (validation lists every field) and is somebody else's text. */
function oneLine(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  return line.length > 1000 ? `${line.slice(0, 1000)}…` : line;
}

function retry(retryAfterMs: number | undefined): { retryAfterMs?: number } {
  return retryAfterMs === undefined ? {} : { retryAfterMs };
}
