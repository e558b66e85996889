import type { Loop } from './loop.ts';
import { contain, countSinkError, enter } from './loop.ts';
import { SinkError } from './verdict.ts';

/**
 * Lists the kind page by page into the sink, and leaves the version to watch from in the loop. Throws
 * what went wrong; the sink was then told that the list is abandoned, if it had seen any of it.
 */
export async function deliverList<T>(loop: Loop<T>, signal: AbortSignal): Promise<void> {
  const { client, path, what, sink, pageSize, selection } = loop.options;
  // Trying again is no news until something comes of it: `retrying` stays.
  if (loop.state.kind === 'watching') enter(loop, { kind: 'listing' });
  loop.version = undefined;
  let begun = false;
  const abandon = (): void => {
    if (begun) contain(loop, 'at the end of a list', () => sink.onListAbandoned());
    begun = false;
  };
  try {
    const pages = client.list<T>(path, {
      what: `list ${what}`,
      signal,
      limit: pageSize,
      ...selection,
    });
    let version = '';
    for await (const page of pages) {
      loop.lastContact = performance.now();
      loop.polls = 0;
      if (loop.state.kind !== 'listing') enter(loop, { kind: 'listing' });
      if (page.restarted) abandon();
      begun = true;
      version = page.resourceVersion;
      await told(loop, 'with a page of a list', signal, () => sink.onPage(page.items));
    }
    await told(loop, 'with a complete list', signal, () => sink.onListed(version));
    begun = false;
    loop.version = version;
    loop.lists += 1;
  } finally {
    abandon();
  }
}

/**
 * Waits for the sink, but never longer than the loop is wanted: a consumer that hangs must not keep
 * `stop` from ending.
 */
async function told<T>(
  loop: Loop<T>,
  step: string,
  signal: AbortSignal,
  call: () => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  let onAbort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new Error('the loop was interrupted'));
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([guard(loop, step, call), aborted]);
  } finally {
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
  signal.throwIfAborted();
}

async function guard<T>(loop: Loop<T>, step: string, call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    countSinkError(loop, step, error);
    throw new SinkError(step, error);
  }
}
