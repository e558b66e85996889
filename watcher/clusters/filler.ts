import { setImmediate as nextTurn } from 'node:timers/promises';
import { backoffMs } from '../../core/backoff.ts';
import { describeError, ShutdownError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { RemoteKind } from '../../core/remote-records.ts';
import { newerVersion } from '../../core/resource-version.ts';
import { sleep } from '../../platform/process/sleep.ts';
import {
  ViewClosedError,
  type ClusterViewWriter,
  type RemoteApplied,
  type RemoteChange,
} from '../../platform/redis/clusters/cluster-view-writer.ts';
import { bytesOf, remoteChangeId } from './remote-change.ts';

/** The cluster has more objects than the view takes of one. */
export class ViewFullError extends Error {
  constructor(cluster: string, maxObjects: number) {
    super(
      `cluster ${cluster} has more than ${maxObjects} objects (--clusters-max-objects), so its view is ` +
        'not filled any further: raise the limit, or remove objects there',
    );
    this.name = 'ViewFullError';
  }
}

export interface FillerDeps {
  readonly writer: ClusterViewWriter;
  readonly maxObjects: number;
  readonly log: Logger;
  readonly random: () => number;
  /** The view can take no more, or may not be written any more. Told once. */
  readonly onEnd: (error: ViewFullError | ViewClosedError) => void;
}

/** What one script call takes: bounds how long Redis is busy with it (a few ms). */
const MOST_CHANGES = 200;
const MOST_BYTES = 256 * 1024;
const RETRY = { baseMs: 50, capMs: 2_000 } as const;

/**
 * Brings what the three watches of one generation show into its view, one batch at a time. What comes
 * meanwhile waits, of several changes of one object the last; so memory is bounded by the number of
 * objects, however wild the cluster is, and a busy one costs fewer calls a change.
 */
export class Filler {
  readonly #deps: FillerDeps;
  readonly #stop = new AbortController();
  readonly #waiting = new Map<string, RemoteChange>();
  #flushing: Promise<void> | null = null;
  #objects = 0;

  constructor(deps: FillerDeps) {
    this.#deps = deps;
  }

  /** Objects in the view when it was last written to. */
  get objects(): number {
    return this.#objects;
  }

  /** Resolves once the view was opened for writing; gives what it held. */
  async open(): ReturnType<ClusterViewWriter['open']> {
    const { writer } = this.#deps;
    const opened = await this.#untilDone('open', () => writer.open());
    this.#objects = await this.#untilDone('count', () => writer.objects());
    return opened;
  }

  push(change: RemoteChange): void {
    this.#waiting.set(remoteChangeId(change), change);
  }

  /** Starts bringing in what was pushed. */
  flush(): void {
    if (this.#stop.signal.aborted || this.#waiting.size === 0) return;
    this.#flushing ??= this.#drain().finally(() => {
      this.#flushing = null;
      this.flush();
    });
  }

  /** Brings changes in at once and waits for it; for lists. */
  async apply(changes: readonly RemoteChange[]): Promise<Applied> {
    let changed = 0;
    let contradicted = '';
    for (const batch of batchesOf(changes)) {
      const applied = await this.#write(batch);
      changed += applied.changed;
      contradicted = olderOf(contradicted, applied.contradicted);
    }
    return { changed, contradicted };
  }

  /** Keys of one kind that the view has, some at a time. Rejects while Redis is away. */
  known(kind: RemoteKind): AsyncIterable<readonly string[]> {
    return this.#deps.writer.known(kind);
  }

  /** One kind was listed in full. @throws ShutdownError after `stop`, ViewClosedError. */
  markSynced(kind: RemoteKind, rv: string): Promise<void> {
    return this.#untilDone('mark', () => this.#deps.writer.markSynced(kind, rv));
  }

  /** Gives up what is waiting; resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.#stop.abort(new ShutdownError());
    this.#waiting.clear();
    await this.#flushing;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.size > 0 && !this.#stop.signal.aborted) {
      const changes = [...this.#waiting.values()];
      this.#waiting.clear();
      try {
        await this.apply(changes);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#deps.log.debug({ error: describeError(error) }, 'changes of a cluster were given up');
      }
    }
  }

  async #write(batch: readonly RemoteChange[]): Promise<RemoteApplied> {
    const { writer, maxObjects, onEnd } = this.#deps;
    // Other clusters and the local one get their turn between two batches.
    await nextTurn();
    const applied = await this.#untilDone('write', () => writer.apply(batch));
    this.#objects = applied.objects;
    if (applied.over === 0) return applied;
    const full = new ViewFullError(writer.cluster, maxObjects);
    onEnd(full);
    throw full;
  }

  async #untilDone<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { log, random, onEnd, writer } = this.#deps;
    const { signal } = this.#stop;
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof ViewClosedError) {
          onEnd(error);
          throw error;
        }
        const fields = { cluster: writer.cluster, step: what, error: describeError(error) };
        if (failures === 1) log.warn(fields, 'the view of a cluster was not written; trying again');
        await sleep(backoffMs(failures, RETRY, random), signal);
      }
    }
  }
}

interface Applied {
  /** What look-ups can tell from what was there. */
  readonly changed: number;
  readonly contradicted: string;
}

function* batchesOf(changes: readonly RemoteChange[]): Generator<RemoteChange[]> {
  let batch: RemoteChange[] = [];
  let bytes = 0;
  for (const change of changes) {
    batch.push(change);
    bytes += bytesOf(change);
    if (batch.length < MOST_CHANGES && bytes < MOST_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** The older of two versions; '' is none. */
function olderOf(a: string, b: string): string {
  if (a === '' || b === '') return a === '' ? b : a;
  return newerVersion(a, b) === a ? b : a;
}
