import { ApiError, describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { KubeClient } from './client.ts';
import {
  eventName,
  eventObject,
  eventsPath,
  eventTime,
  type EventInput,
  type StoredEvent,
} from './events/event-object.ts';

export type { EventInput } from './events/event-object.ts';

export type EventResult = 'created' | 'repeated' | 'failed' | 'dropped';

/** Kubernetes Events, for those who look at an object with kubectl rather than at our log. */
export interface EventSink {
  /** Never waits and never fails; what cannot be written is dropped. */
  emit(event: EventInput): void;
  /** Resolves once everything emitted so far was sent, or failed. */
  flush(): Promise<void>;
}

export interface EventSinkOptions {
  readonly client: Pick<KubeClient, 'get' | 'create' | 'patch'>;
  /** Who says so: `tether-external-workloads`. */
  readonly component: string;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Told what became of each Event. */
  readonly observe?: (result: EventResult) => void;
  /** Events that wait to be sent; the oldest gives way. */
  readonly maxQueue?: number;
  /** Events whose last time is remembered. */
  readonly maxKnown?: number;
}

/** A repeat patches the count no more often than this, in ms. */
export const REPEAT_EVERY_MS = 600_000;
/** After a failure of the network or the server the next occurrence tries again. */
const RETRY_AFTER_MS = 30_000;

interface Known {
  /** Occurrences that the API server was not told of yet. */
  unsent: number;
  /** When the next word may be sent, by `now`. */
  notBefore: number;
  created: boolean;
  queued: boolean;
}

/**
 * Writes Events one after another beside the work, each named by a hash of (UID, reason, message):
 * created once, its count and time patched at most every 10 minutes, by however many processes.
 */
export function createEventSink(options: EventSinkOptions): EventSink {
  const { now = Date.now, maxQueue = 1_000, maxKnown = 10_000 } = options;
  const known = new Map<string, Known>();
  const queue = new Map<string, EventInput>();
  const warned = new Set<string>();
  let sending: Promise<void> | null = null;

  const drain = async (): Promise<void> => {
    for (const [id, event] of queue) {
      queue.delete(id);
      const state = known.get(id);
      if (state) await trySend(options, warned, event, state);
    }
    sending = null;
  };

  return {
    emit: (event) => {
      const id = `${event.regarding.namespace}/${eventName(event)}`;
      const state = remember(known, id, maxKnown);
      state.unsent += 1;
      if (state.queued || now() < state.notBefore) return;
      state.queued = true;
      queue.set(id, event);
      if (queue.size > maxQueue) dropOldest(options, warned, queue, known);
      sending ??= Promise.resolve().then(drain);
    },
    flush: async () => {
      while (sending !== null) await sending;
    },
  };
}

async function trySend(
  options: EventSinkOptions,
  warned: Set<string>,
  event: EventInput,
  state: Known,
): Promise<void> {
  const { now = Date.now, observe, log } = options;
  state.queued = false;
  try {
    const result = await sendEvent(options, event, state, now());
    observe?.(result);
  } catch (error) {
    observe?.('failed');
    state.notBefore = now() + (isTransient(error) ? RETRY_AFTER_MS : REPEAT_EVERY_MS);
    report(
      log,
      warned,
      `${event.reason} of ${event.regarding.namespace}/${eventName(event)}`,
      error,
    );
  }
}

function dropOldest(
  { observe, log, maxQueue }: EventSinkOptions,
  warned: Set<string>,
  queue: Map<string, EventInput>,
  known: ReadonlyMap<string, Known>,
): void {
  const [oldest] = queue.keys();
  if (oldest === undefined) return;
  queue.delete(oldest);
  const state = known.get(oldest);
  if (state) state.queued = false;
  observe?.('dropped');
  if (warned.has('dropped')) return;
  warned.add('dropped');
  log.warn({ maxQueue }, 'Kubernetes Events are dropped: more come than the API server takes');
}

/** The entry of an Event, moved to the young end; the one unused longest is forgotten. */
function remember(known: Map<string, Known>, id: string, limit: number): Known {
  const state = known.get(id) ?? { unsent: 0, notBefore: 0, created: false, queued: false };
  known.delete(id);
  known.set(id, state);
  if (known.size <= limit) return state;
  for (const [oldest, { queued }] of known) {
    // One that is about to be sent is not forgotten, or its send would have nothing to go by.
    if (queued || oldest === id) continue;
    known.delete(oldest);
    break;
  }
  return state;
}

async function sendEvent(
  { client, component }: EventSinkOptions,
  event: EventInput,
  state: Known,
  at: number,
): Promise<EventResult> {
  const { namespace } = event.regarding;
  const path = eventsPath(namespace);
  const object = `events ${namespace}/${eventName(event)}`;
  const count = state.unsent;
  const settle = (from: number): void => {
    state.created = true;
    state.notBefore = from + REPEAT_EVERY_MS;
  };
  const create = async (): Promise<EventResult> => {
    const body = eventObject(event, component, count, eventTime(at));
    await client.create(path, body, { what: `create ${object}` });
    settle(at);
    state.unsent -= count;
    return 'created';
  };
  const repeat = async (): Promise<EventResult> => {
    const one = `${path}/${eventName(event)}`;
    const stored = await client.get<StoredEvent>(one, { what: `get ${object}` });
    const last = Date.parse(stored.lastTimestamp ?? '');
    if (at - last < REPEAT_EVERY_MS) {
      // Another process told it meanwhile; what is unsent goes with the next patch.
      settle(last);
      return 'repeated';
    }
    const body = { count: (stored.count ?? 1) + count, lastTimestamp: eventTime(at) };
    await client.patch(one, body, 'application/merge-patch+json', { what: `patch ${object}` });
    settle(at);
    state.unsent -= count;
    return 'repeated';
  };
  if (!state.created) return (await unlessStatus(create(), 409)) ?? repeat();
  // The API server forgets Events after an hour.
  return (await unlessStatus(repeat(), 404)) ?? create();
}

/** The promise's value; null when it failed with this HTTP status. */
async function unlessStatus<T>(promise: Promise<T>, status: number): Promise<T | null> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof ApiError && error.status === status) return null;
    throw error;
  }
}

function isTransient(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === 429 || error.status >= 500;
}

/** One line a kind of failure, then quiet: Events are a courtesy. */
function report(log: Logger, warned: Set<string>, event: string, error: unknown): void {
  if (isNamespaceGone(error)) return;
  const kind = error instanceof ApiError ? String(error.status) : 'unreachable';
  if (warned.has(kind)) {
    log.debug({ event, error: describeError(error) }, 'a Kubernetes Event was not written');
    return;
  }
  warned.add(kind);
  const advice =
    kind === '403'
      ? 'no right to write Kubernetes Events: allow get, create and patch on events (infra/rbac/worker.yaml)'
      : 'a Kubernetes Event was not written';
  log.warn(
    { event, error: describeError(error) },
    `${advice}; the next ones of this kind are quiet`,
  );
}

function isNamespaceGone(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 404) return true;
  return error.failure.causes.some(({ reason }) => reason === 'NamespaceTerminating');
}
