import type { ApiObject } from '../core/api-objects.ts';
import type { Kind } from '../core/codec.ts';
import type { Change } from '../platform/redis/view/view-writer.ts';
import { removalOf, upsertOf, vanishedAt } from './change-of.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { ReflectorSink, ReflectorState } from './reflector.ts';

export interface KindSinkDeps {
  readonly kind: Kind;
  readonly dispatcher: Dispatcher;
  readonly accepts: (namespace: string) => boolean;
  /** Names of this kind that the view has in each namespace; for what a list did not show. */
  readonly known: () => Promise<ReadonlyMap<string, readonly string[]>>;
  /** Events are handed on so much later, ms; 0: at once. */
  readonly delayMs: number;
  readonly now: () => number;
  /** A list is complete; `found` changes were unknown to the view. */
  readonly onListed: (kind: Kind, resourceVersion: string, found: number) => Promise<void>;
  readonly onState: (kind: Kind, state: ReflectorState) => void;
}

export interface KindSink extends ReflectorSink<ApiObject> {
  stop(): void;
}

/**
 * Takes what the reflector of one kind delivers to the dispatcher. A list is compared with the view
 * itself: what it has and the list has not is gone, as of the list's version.
 */
export function createKindSink(deps: KindSinkDeps): KindSink {
  const { kind, dispatcher, accepts } = deps;
  let listed = new Map<string, Set<string>>();
  let found = 0;
  const delayed = createDelay(deps.delayMs, dispatcher);

  const onPage = async (items: readonly ApiObject[]): Promise<void> => {
    const changes = new Map<string, Change[]>();
    for (const item of items) {
      const { namespace = '', name = '' } = item.metadata ?? {};
      if (!accepts(namespace)) continue;
      entry(changes, namespace, () => []).push(upsertOf(kind, item));
      entry(listed, namespace, () => new Set<string>()).add(name);
    }
    found += await applyAll(dispatcher, changes, deps.now());
  };

  const onListed = async (resourceVersion: string): Promise<void> => {
    const gone = new Map<string, Change[]>();
    for (const [namespace, names] of await deps.known()) {
      const seen = listed.get(namespace);
      const vanished = names.filter((name) => !seen?.has(name));
      if (vanished.length === 0) continue;
      gone.set(
        namespace,
        vanished.map((name) => vanishedAt(kind, name, resourceVersion)),
      );
    }
    const total = found + (await applyAll(dispatcher, gone, deps.now()));
    listed = new Map();
    found = 0;
    await deps.onListed(kind, resourceVersion, total);
  };

  return {
    onPage,
    onListed,
    onListAbandoned: () => {
      listed = new Map();
      found = 0;
    },
    onEvent: (type, object) => {
      const namespace = object.metadata?.namespace ?? '';
      if (!accepts(namespace)) return;
      const change = type === 'DELETED' ? removalOf(kind, object) : upsertOf(kind, object);
      delayed.push(namespace, change, deps.now());
    },
    onBatchEnd: delayed.flush,
    onState: (state) => deps.onState(kind, state),
    stop: delayed.stop,
  };
}

async function applyAll(
  dispatcher: Dispatcher,
  changes: ReadonlyMap<string, readonly Change[]>,
  seenAt: number,
): Promise<number> {
  const counts = await Promise.all(
    [...changes].map(([namespace, list]) => dispatcher.apply(namespace, list, seenAt)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Hands events on after a while. Slices need it: two thirds of the echoes of our own writes come
 * before their writer has recorded them, all of the records are there 50 ms later (measured), so 100
 * ms later an echo is no news.
 */
function createDelay(
  delayMs: number,
  dispatcher: Dispatcher,
): { push: Dispatcher['push']; flush: () => void; stop: () => void } {
  if (delayMs === 0) {
    return { push: dispatcher.push, flush: dispatcher.flush, stop: () => undefined };
  }
  const timers = new Set<NodeJS.Timeout>();
  let batch: Parameters<Dispatcher['push']>[] = [];
  return {
    push: (...event) => batch.push(event),
    flush: () => {
      if (batch.length === 0) return;
      const due = batch;
      batch = [];
      const timer = setTimeout(() => {
        timers.delete(timer);
        for (const event of due) dispatcher.push(...event);
        dispatcher.flush();
      }, delayMs);
      timers.add(timer);
    },
    stop: () => {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
