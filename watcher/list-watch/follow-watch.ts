import { errorOfEvent } from '../../platform/kube/answers.ts';
import { WatchDamagedError } from '../../platform/kube/client.ts';
import type { WatchEvent } from '../../platform/kube/client.ts';
import type { Loop } from './loop.ts';
import { contain, countSinkError, enter } from './loop.ts';
import { SinkError } from './verdict.ts';

/** How one watch went, so that the loop can tell a healthy one from a storm. */
export interface WatchCourse {
  /** The server accepted it. */
  opened: boolean;
  /** Something newer than what the watch began with came, a bookmark included. */
  progressed: boolean;
  /** A bookmark came, be it of the same version: the server knows where this watch is. */
  bookmarked: boolean;
  /** `performance.now()` at its begin. */
  readonly begunAt: number;
  /** The last event, by which a server that repeats itself is noticed. */
  last: string;
}

/**
 * Watches from the loop's version and hands each event to the sink, until the server ends the stream
 * cleanly (returns) or anything else happens (throws). `course` is filled in as it goes.
 */
export async function followWatch<T>(
  loop: Loop<T>,
  version: string,
  course: WatchCourse,
  signal: AbortSignal,
): Promise<void> {
  const { client, path, what, sink, idleMs, watchSeconds, random, selection } = loop.options;
  const [least, most] = watchSeconds;
  const batches = client.watch(path, {
    what: `watch ${what}`,
    signal,
    resourceVersion: version,
    // Drawn anew each time, so that many watchers do not all come back at once.
    timeoutSeconds: Math.max(1, Math.round(least + (most - least) * random())),
    idleMs,
    ...selection,
  });
  for await (const batch of batches) {
    if (!course.opened) {
      course.opened = true;
      enter(loop, { kind: 'watching' });
    }
    if (batch.length === 0) continue;
    loop.lastContact = performance.now();
    try {
      for (const event of batch) take(loop, course, event);
    } finally {
      contain(loop, 'at the end of a batch', () => sink.onBatchEnd());
    }
    // A sink may have stopped the loop: nothing is delivered after that.
    signal.throwIfAborted();
  }
}

function take<T>(loop: Loop<T>, course: WatchCourse, event: WatchEvent): void {
  const { sink, what } = loop.options;
  const type = event.type;
  if (type === 'ERROR') throw errorOfEvent(`watch ${what}`, event.object);
  const { resourceVersion: version, uid = '' } = event.object.metadata ?? {};
  if (typeof version !== 'string' || version === '') {
    throw new WatchDamagedError(`watch ${what}`, `a ${type} event has no resourceVersion`);
  }
  if (type === 'BOOKMARK') {
    course.bookmarked = true;
    return advance(loop, course, version);
  }
  const identity = `${type} ${uid} ${version}`;
  if (identity === course.last) {
    loop.repeats += 1;
    return;
  }
  try {
    // The watch is of the path whose objects are T; who wrote the sink chose both.
    sink.onEvent(type, event.object as T);
  } catch (error) {
    countSinkError(loop, `with a ${type} event`, error);
    throw new SinkError(`with a ${type} event`, error);
  }
  course.last = identity;
  advance(loop, course, version);
}

/** Only after the sink took the event, so that a resume never skips one. */
function advance<T>(loop: Loop<T>, course: WatchCourse, version: string): void {
  if (version !== loop.version) course.progressed = true;
  loop.version = version;
}
