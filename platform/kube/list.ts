import { ApiError, UnreachableError } from '../../core/errors.ts';
import type { RequestOptions } from './client.ts';

export interface ListOptions extends RequestOptions {
  /** Objects a page; default 500. */
  readonly limit?: number;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListPage<T> {
  readonly items: T[];
  /** The version of the whole list, the same on every page of it. */
  readonly resourceVersion: string;
  /** True on the first page after a continue token expired: forget the pages before it. */
  readonly restarted: boolean;
}

const DEFAULT_LIMIT = 500;
/** A page is big and a link may be slow; a server that is gone is told by connecting, in 5 s. */
const DEFAULT_PAGE_TIMEOUT_MS = 30_000;
/** A list that keeps expiring is slower than the server's compaction: let the caller back off. */
const MAX_RESTARTS = 3;

interface ListBody {
  readonly items?: unknown;
  readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown } | null;
}

/**
 * See `KubeClient.list`. Never asks for resourceVersion 0: the list must be consistent. The next page
 * is on its way while the caller is busy with this one.
 */
export async function* listPages<T>(
  fetchPage: (options: RequestOptions) => Promise<unknown>,
  options: ListOptions,
): AsyncGenerator<ListPage<T>, void, undefined> {
  const begin = (from: string): Promise<unknown> => {
    const request = fetchPage(pageRequest(options, from));
    // Whoever awaits it is told of a failure; a caller that stops before that need not be.
    request.catch(() => undefined);
    return request;
  };
  let token = '';
  let restarts = 0;
  let restarted = false;
  let coming = begin('');
  do {
    let body: ListBody;
    try {
      body = (await coming) as ListBody;
    } catch (error) {
      if (token === '' || !isExpired(error) || restarts >= MAX_RESTARTS) throw error;
      restarts += 1;
      restarted = true;
      token = '';
      coming = begin('');
      continue;
    }
    const page = readPage<T>(body, options.what);
    token = page.token;
    if (token !== '') coming = begin(token);
    yield { items: page.items, resourceVersion: page.resourceVersion, restarted };
    restarted = false;
  } while (token !== '' || restarted);
}

function pageRequest(options: ListOptions, token: string): RequestOptions {
  const { what, signal, query, labelSelector, fieldSelector, metadataOnly = false } = options;
  return {
    what,
    metadataOnly,
    timeoutMs: options.timeoutMs ?? DEFAULT_PAGE_TIMEOUT_MS,
    ...(signal === undefined ? {} : { signal }),
    query: {
      ...query,
      limit: String(options.limit ?? DEFAULT_LIMIT),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(token === '' ? {} : { continue: token }),
    },
  };
}

function readPage<T>(body: ListBody | null, what: string) {
  const { items = null, metadata } = body ?? {};
  const resourceVersion = metadata?.resourceVersion;
  // Go writes an empty list as null.
  const list: unknown = items === null ? [] : items;
  const whole =
    typeof resourceVersion === 'string' &&
    resourceVersion !== '' &&
    Array.isArray(list) &&
    list.every((item) => typeof item === 'object' && item !== null);
  if (!whole) throw new UnreachableError(what, new Error('the answer is JSON, but not a list'));
  const next = metadata?.continue;
  return { items: list as T[], resourceVersion, token: typeof next === 'string' ? next : '' };
}

function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410;
}
