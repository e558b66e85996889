import type { Logger } from '../core/logger.ts';
import { backoffMs } from '../core/backoff.ts';
import { describeError } from '../core/errors.ts';
import type { Applied, Change, ViewWriter } from '../platform/redis/view/view-writer.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';
import { changeKey } from './change-of.ts';

/**
 * From changes to jobs: brings changes into the view, namespace by namespace, and enqueues the
 * Services that the view says they dirty.
 *
 * One flush at a time for each namespace: what comes meanwhile waits, and of several changes of one
 * object only the last is kept (the view compares with what it has, so nothing is lost by that). So
 * memory is bounded by the number of objects, and batches grow exactly when they should.
 */
export interface Dispatcher {
  push(namespace: string, change: Change, seenAt: number): void;
  /** Starts flushing what was pushed. */
  flush(): void;
  /** Applies changes at once and waits for it; for lists. Gives how many the view did not know. */
  apply(namespace: string, changes: readonly Change[], seenAt: number): Promise<number>;
  /** Enqueues keys that have been pending for `olderThanMs` or longer. */
  sweep(namespace: string, olderThanMs: number): Promise<number>;
  /** From now on dirty keys are enqueued; before, they stay pending in the view. */
  openGate(): void;
  /** Resolves once nothing is waiting or under way. */
  idle(): Promise<void>;
  stop(): void;
}

export interface DispatcherDeps {
  readonly writer: () => ViewWriter;
  readonly queue: WorkQueue;
  readonly log: Logger;
  readonly random: () => number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A change was refused: another watcher was first, and might die before it enqueues. */
  readonly onRefused: (namespace: string) => void;
  /** Before the first change of a namespace is applied. */
  readonly onNamespace: (namespace: string) => Promise<void>;
}

interface Pending {
  readonly change: Change;
  readonly seenAt: number;
}

/** Changes of one script call: bounds how long Redis is busy with one of them (a few ms). */
const MAX_BATCH = 250;
const RETRY = { baseMs: 50, capMs: 2_000 } as const;

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const waiting = new Map<string, Map<string, Pending>>();
  const flushing = new Map<string, Promise<void>>();
  let gateOpen = false;
  let stopped = false;

  const enqueue = async (
    namespace: string,
    applied: Pick<Applied, 'dirty' | 'score'>,
    seenAt: number,
  ): Promise<void> => {
    if (!gateOpen || applied.dirty.length === 0) return;
    const adds = applied.dirty.map(({ service, why }) => ({
      key: { namespace, name: service },
      reason: `${why} changed`,
      at: seenAt,
    }));
    await untilDone(`enqueue keys of namespace ${namespace}`, () => deps.queue.addEvents(adds));
    const services = applied.dirty.map(({ service }) => service);
    await deps.writer().settle(namespace, applied.score, services);
  };

  /** Redis may be away for as long as it likes; what it owes is delivered afterwards. */
  const untilDone = async <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
    for (let failures = 1; ; failures++) {
      try {
        return await attempt();
      } catch (error) {
        if (stopped) throw error;
        if (failures === 1) deps.log.warn({ error: describeError(error) }, `${what}: will retry`);
        await pause(backoffMs(failures, RETRY, deps.random));
      }
    }
  };

  const apply = async (
    namespace: string,
    changes: readonly Change[],
    seenAt: number,
  ): Promise<number> => {
    await untilDone(`open namespace ${namespace}`, () => deps.onNamespace(namespace));
    let accepted = 0;
    for (let from = 0; from < changes.length; from += MAX_BATCH) {
      const batch = changes.slice(from, from + MAX_BATCH);
      const applied = await untilDone(`update the view of namespace ${namespace}`, () =>
        deps.writer().apply(namespace, batch),
      );
      accepted += applied.accepted;
      if (applied.refused > 0) deps.onRefused(namespace);
      await enqueue(namespace, applied, seenAt);
    }
    return accepted;
  };

  const drain = async (namespace: string): Promise<void> => {
    for (let batch = waiting.get(namespace); batch && !stopped; batch = waiting.get(namespace)) {
      waiting.delete(namespace);
      const entries = [...batch.values()];
      const seenAt = Math.min(...entries.map((entry) => entry.seenAt));
      await apply(
        namespace,
        entries.map((entry) => entry.change),
        seenAt,
      );
    }
  };

  const flush = (): void => {
    for (const namespace of waiting.keys()) {
      if (flushing.has(namespace) || stopped) continue;
      const run = drain(namespace)
        .catch((error: unknown) => {
          if (!stopped) deps.log.error({ error: describeError(error), namespace }, 'flush failed');
        })
        .finally(() => {
          flushing.delete(namespace);
          if (waiting.has(namespace)) flush();
        });
      flushing.set(namespace, run);
    }
  };

  return {
    push: (namespace, change, seenAt) => {
      const batch = waiting.get(namespace) ?? new Map<string, Pending>();
      waiting.set(namespace, batch);
      const key = changeKey(change);
      const earlier = batch.get(key);
      batch.set(key, { change, seenAt: Math.min(seenAt, earlier?.seenAt ?? seenAt) });
    },
    flush,
    apply,
    sweep: async (namespace, olderThanMs) => {
      const overdue = await deps.writer().overdue(namespace, olderThanMs);
      await enqueue(namespace, overdue, deps.now());
      return overdue.dirty.length;
    },
    openGate: () => {
      gateOpen = true;
    },
    idle: async () => {
      while (flushing.size > 0) await Promise.all(flushing.values());
    },
    stop: () => {
      stopped = true;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
