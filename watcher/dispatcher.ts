import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../core/backoff.ts';
import { describeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { isDnsSubdomain } from '../core/object-key.ts';
import { olderVersion } from '../core/resource-version.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';
import {
  LEFT_PENDING,
  type Applied,
  type Change,
  type ViewWriter,
  type Why,
} from '../platform/redis/view/view-writer.ts';
import { changeKey } from './change-of.ts';

export interface DispatcherDeps {
  readonly writer: () => ViewWriter;
  readonly queue: WorkQueue;
  readonly log: Logger;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A change was refused: another watcher was first, and might die before it enqueues. */
  readonly onRefused: (namespace: string) => void;
  /** Before the changes of a namespace are applied, and after: it might have been left in between. */
  readonly onNamespace: (namespace: string) => Promise<void>;
}

interface Waiting {
  readonly change: Change;
  readonly seenAt: number;
}

/** Changes of one script call: bounds how long Redis is busy with one of them (a few ms). */
const MAX_BATCH = 250;
/** From a key's queue add to its leaving the pending set, ms; a sweep looks at what is older than 10 s. */
const SETTLE_AFTER_MS = 10;
const RETRY = { baseMs: 50, capMs: 2_000 } as const;

/**
 * From changes to jobs: brings changes into the view, namespace by namespace, and enqueues the
 * Services that the view says they dirty.
 *
 * One flush at a time for each namespace: what comes meanwhile waits, and of several changes of one
 * object only the last is kept (the view compares with what it has, so nothing is lost by that). So
 * memory is bounded by the number of objects, and batches grow exactly when they should.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #waiting = new Map<string, Map<string, Waiting>>();
  readonly #flushing = new Map<string, Promise<void>>();
  readonly #settling = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  #gateOpen = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  push(namespace: string, change: Change, seenAt: number): void {
    const batch = this.#waiting.get(namespace) ?? new Map<string, Waiting>();
    this.#waiting.set(namespace, batch);
    const key = changeKey(change);
    const earlier = batch.get(key)?.seenAt ?? seenAt;
    batch.set(key, { change, seenAt: Math.min(seenAt, earlier) });
  }

  /** Starts flushing what was pushed. */
  flush(): void {
    if (this.#stop.signal.aborted) return;
    for (const namespace of this.#waiting.keys()) {
      if (!this.#flushing.has(namespace)) this.#flushing.set(namespace, this.#drain(namespace));
    }
  }

  /** Applies changes at once and waits for it; for lists. */
  async apply(
    namespace: string,
    changes: readonly Change[],
    seenAt: number,
  ): Promise<Pick<Applied, 'accepted' | 'contradicted'>> {
    const { onNamespace, onRefused, writer } = this.#deps;
    const open = () => this.#untilDone(`open namespace ${namespace}`, () => onNamespace(namespace));
    await open();
    let accepted = 0;
    let contradicted = '';
    for (let from = 0; from < changes.length; from += MAX_BATCH) {
      const batch = changes.slice(from, from + MAX_BATCH);
      const applied = await this.#untilDone(`update the view of namespace ${namespace}`, () =>
        writer().apply(namespace, batch),
      );
      accepted += applied.accepted;
      contradicted = olderVersion(contradicted, applied.contradicted);
      if (applied.refused > 0) onRefused(namespace);
      await this.#enqueue(namespace, applied, seenAt);
    }
    await open();
    return { accepted, contradicted };
  }

  /** Enqueues keys that have been pending for `olderThanMs` or longer; gives how many: none while the gate is shut. */
  async sweep(namespace: string, olderThanMs: number): Promise<number> {
    const overdue = await this.#deps.writer().overdue(namespace, olderThanMs);
    return this.#enqueue(namespace, overdue, this.#deps.now());
  }

  /** From now on dirty keys are enqueued; before, they stay pending in the view. */
  openGate(): void {
    this.#gateOpen = true;
  }

  /** Dirty keys stay pending in the view until `openGate`; whoever opens it sweeps. */
  closeGate(): void {
    this.#gateOpen = false;
  }

  /** Gives up what is waiting and resolves once nothing is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#flushing.values(), ...this.#settling]);
  }

  async #drain(namespace: string): Promise<void> {
    try {
      for (let batch = this.#take(namespace); batch; batch = this.#take(namespace)) {
        const seenAt = Math.min(...batch.map((entry) => entry.seenAt));
        const changes = batch.map((entry) => entry.change);
        await this.apply(namespace, changes, seenAt);
      }
    } catch (error) {
      // Only a stop ends the retries of a step, or a bug.
      if (!this.#stop.signal.aborted) {
        this.#deps.log.error({ error: describeError(error), namespace }, 'a flush failed');
      }
    } finally {
      this.#flushing.delete(namespace);
    }
  }

  #take(namespace: string): Waiting[] | undefined {
    const batch = this.#waiting.get(namespace);
    this.#waiting.delete(namespace);
    return batch && [...batch.values()];
  }

  /** Gives how many. The keys leave the pending set only after their queue add (docs/queue.md, guarantee 8). */
  async #enqueue(
    namespace: string,
    { dirty, score }: Pick<Applied, 'dirty' | 'score'>,
    at: number,
  ): Promise<number> {
    if (!this.#gateOpen || dirty.length === 0) return 0;
    const { queue } = this.#deps;
    const writer = this.#deps.writer();
    const adds = dirty
      .filter(({ service }) => this.#canBeAKey(namespace, service))
      .map(({ service, why }) => ({
        key: { namespace, name: service },
        reason: reasonOf(why),
        at,
      }));
    await this.#untilDone(`enqueue keys of ${namespace}`, () => queue.addEvents(adds));
    const services = dirty.map(({ service }) => service);
    this.#settleLater(namespace, () => writer.settle(namespace, score, services));
    return adds.length;
  }

  /** Not at once: just now a worker, of this process perhaps, takes the key, and someone waits for that. */
  #settleLater(namespace: string, settle: () => Promise<void>): void {
    const settled = delay(SETTLE_AFTER_MS, undefined, { signal: this.#stop.signal })
      .then(() => this.#untilDone(`settle keys of ${namespace}`, settle))
      // Only a stop ends it early; the keys are enqueued once more then, by whoever sweeps.
      .catch(() => undefined)
      .finally(() => this.#settling.delete(settled));
    this.#settling.add(settled);
  }

  /** A slice's label may name what no Service can be called; that must not hold up the others. */
  #canBeAKey(namespace: string, service: string): boolean {
    if (isDnsSubdomain(service)) return true;
    this.#deps.log.warn(
      { namespace, service },
      `a slice with our manager label names ${JSON.stringify(service)}, which is no Service's name; delete that slice`,
    );
    return false;
  }

  /** Redis may be away for as long as it likes; what it owes is delivered afterwards. */
  async #untilDone<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { log, random } = this.#deps;
    for (let failures = 1; ; failures++) {
      try {
        return await attempt();
      } catch (error) {
        if (this.#stop.signal.aborted) throw error;
        if (failures === 1) log.warn({ error: describeError(error) }, `${what}: will try again`);
        const { signal } = this.#stop;
        await delay(backoffMs(failures, RETRY, random), undefined, { signal });
      }
    }
  }
}

function reasonOf(why: Why): string {
  return why === LEFT_PENDING ? why : `${why} changed`;
}
