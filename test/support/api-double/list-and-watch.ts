import type { ServerResponse } from 'node:http';
import { badRequest, expiredList, refuse, sendJson, statusText, tooOld } from './answers.ts';
import type { DoubleKind } from './kinds.ts';
import { selectorOf, SelectorError, type Selector } from './selector.ts';
import type { DoubleStore, ListPosition } from './store.ts';

/**
 * Bookmarks come once a minute, and this long before a watch ends, ms; but only where something has
 * changed since the watch began.
 */
const BOOKMARK_EVERY_MS = 60_000;
const BOOKMARK_BEFORE_END_MS = 2_000;
/** Without `timeoutSeconds` a server chooses: half an hour to an hour. */
const DEFAULT_WATCH_SECONDS = 1_800;

/** An open watch of a double. */
export interface OpenWatch {
  readonly kind: DoubleKind;
  readonly response: ServerResponse;
  /** Tells the version that the watch has come to, as it does by itself from time to time. */
  bookmark(): void;
}

export interface Question {
  readonly kind: DoubleKind;
  readonly query: URLSearchParams;
  readonly response: ServerResponse;
}

/** Answers a list, one page. */
export function answerList(store: DoubleStore, { kind, query, response }: Question): void {
  const selector = readSelector(query, response);
  if (selector === 'refused') return;
  const from = positionOf(query);
  if (from === null) return refuse(response, badRequest('continue key is not valid'));
  const limit = Number(query.get('limit') ?? '0') || Infinity;
  const page = store.list(kind.plural, limit, from, selector);
  if (page === undefined) {
    const inconsistent = writeToken({ version: -1, after: from?.after ?? '' });
    return refuse(response, expiredList(inconsistent));
  }
  const { version, items, left, last } = page;
  const next = left > 0 ? { continue: writeToken({ version, after: last }) } : lastPage(kind);
  // Counting what a selector leaves would mean to read it all: API servers do not say.
  const count = left === 0 || selector !== undefined ? {} : { remainingItemCount: left };
  const metadata = JSON.stringify({ resourceVersion: String(version), ...next, ...count });
  const head = `{"kind":"${kind.kind}List","apiVersion":"${kind.apiVersion}"`;
  sendJson(response, 200, `${head},"metadata":${metadata},"items":[${items.join(',')}]}`);
}

/** Answers a watch; `opened` gets it once it stands, `closed` once it is over. */
export function answerWatch(
  store: DoubleStore,
  { kind, query, response }: Question,
  opened: (watch: OpenWatch) => void,
  closed: (watch: OpenWatch) => void,
): void {
  const selector = readSelector(query, response);
  if (selector === 'refused') return;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  const version = Number(query.get('resourceVersion') ?? '0');
  if (version !== 0 && version < store.forgotten) {
    const status = statusText(tooOld(version, store.forgotten));
    return void response.end(`{"type":"ERROR","object":${status}}\n`);
  }
  const bookmark = (): void => {
    const { kind: name, apiVersion } = kind;
    const metadata = { resourceVersion: String(store.version) };
    const object = JSON.stringify({ kind: name, apiVersion, metadata });
    response.write(`{"type":"BOOKMARK","object":${object}}\n`);
  };
  const watch: OpenWatch = { kind, response, bookmark };
  if (version === 0) for (const line of store.present(kind.plural, selector)) response.write(line);
  const from = version === 0 ? store.version : version;
  const unfollow = store.follow(kind.plural, from, selector, (line) => response.write(line));
  const remind = (): void => {
    if (store.version > from) bookmark();
  };
  const stopTimers = startTimers(query, remind, () => {
    unfollow();
    response.end();
  });
  response.on('close', () => {
    unfollow();
    stopTimers();
    closed(watch);
  });
  opened(watch);
}

/** For kinds of a CRD the end is told. */
function lastPage(kind: DoubleKind): { continue?: string } {
  return kind.itemsNameTheirKind ? { continue: '' } : {};
}

function startTimers(query: URLSearchParams, bookmark: () => void, end: () => void): () => void {
  const endMs = (Number(query.get('timeoutSeconds') ?? '0') || DEFAULT_WATCH_SECONDS) * 1000;
  const timers = [setTimeout(end, endMs)];
  if (query.get('allowWatchBookmarks') === 'true') {
    timers.push(setInterval(bookmark, BOOKMARK_EVERY_MS));
    if (endMs > BOOKMARK_BEFORE_END_MS) {
      timers.push(setTimeout(bookmark, endMs - BOOKMARK_BEFORE_END_MS));
    }
  }
  return () => {
    for (const timer of timers) clearTimeout(timer);
  };
}

function readSelector(
  query: URLSearchParams,
  response: ServerResponse,
): Selector | undefined | 'refused' {
  try {
    return selectorOf(query);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    refuse(response, badRequest(error.message));
    return 'refused';
  }
}

/** The form that API servers give it, so that a test may forge one for both. */
const TOKEN_VERSION = 'meta.k8s.io/v1';

function writeToken({ version, after }: ListPosition): string {
  const token = { v: TOKEN_VERSION, rv: version, start: `${after}\0` };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

/** Where a list is to go on; undefined: at its beginning, null: at none of our places. */
function positionOf(query: URLSearchParams): ListPosition | undefined | null {
  const token = query.get('continue') ?? '';
  return token === '' ? undefined : readToken(token);
}

/** null: not one of ours. */
function readToken(token: string): ListPosition | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    const { v, rv, start } = parsed as { v?: unknown; rv?: unknown; start?: unknown };
    if (v !== TOKEN_VERSION || typeof rv !== 'number' || typeof start !== 'string') return null;
    return { version: rv, after: start.replace(/\0$/, '') };
  } catch {
    return null;
  }
}
