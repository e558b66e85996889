import type { RedisClient } from '../client.ts';
import type { Encoded, Kind } from '../../../core/codec.ts';
import { redisMicros } from '../now.ts';
import { loadScript, runScript } from '../scripts.ts';
import {
  birthKey,
  LEFT_TTL_MS,
  namespacesKey,
  pendingKey,
  TOMBSTONE_TTL_MS,
  viewBase,
  type ViewKeys,
} from './keys.ts';

/**
 * One object as a watch or a list showed it. A deletion found by a list has no uid, and nothing by which the
 * object was found (`index`, as in `Encoded`).
 */
export type Change =
  | { readonly op: 'upsert'; readonly kind: Kind; readonly object: Encoded }
  | {
      readonly op: 'remove';
      readonly kind: Kind;
      readonly name: string;
      readonly rv: string;
      readonly uid: string;
      readonly index?: string;
    };

/** One version of one object, as an event showed it. */
export interface Version {
  readonly op: Change['op'];
  readonly name: string;
  readonly rv: string;
  readonly uid: string;
}

/** Why a Service is dirty: what changed; or its key was left pending, and nobody knows of what any more. */
export type Why = Kind | typeof LEFT_PENDING;

export const LEFT_PENDING = 'left pending';

export interface Applied {
  /** Changes that the view did not know yet. */
  readonly accepted: number;
  /** Changes that the view knew, or knows better: another watcher was first, or they are echoes. */
  readonly refused: number;
  /**
   * The oldest of the versions by which the view knew better than an upsert that was refused; '' if none.
   * An event may trail behind like that. A list of that version or a newer one may not.
   */
  readonly contradicted: string;
  /** Services that the accepted changes dirty; they are pending until `settle`. */
  readonly dirty: readonly { readonly service: string; readonly why: Why }[];
  /** Time of the change by Redis' clock, µs, as text; what `settle` wants back. */
  readonly score: string;
}

/**
 * What a heartbeat finds. `lost`: the namespace's data is gone, or was filled by another; `left`: a watcher left
 * the namespace, and there is nothing in it; `left-in-use`: it did, and it is to be opened anew.
 */
export type Beat = 'lost' | 'marked' | 'left' | 'left-in-use';

/** The view as watchers use it: bring in changes, keep it marked as in sync, hand on what is dirty. */
export interface ViewWriter {
  readonly keys: ViewKeys;
  apply(namespace: string, changes: readonly Change[]): Promise<Applied>;
  /** Takes keys off the pending set, after their queue add returned. */
  settle(namespace: string, score: string, services: readonly string[]): Promise<void>;
  /** Pending keys that have waited `olderThanMs` or more: left behind by whoever made them dirty. */
  overdue(namespace: string, olderThanMs: number): Promise<Pick<Applied, 'dirty' | 'score'>>;
  /** Which of these versions the view does not know yet, in the same order. */
  news(namespace: string, kind: Kind, versions: readonly Version[]): Promise<boolean[]>;
  /** Names of one kind that the view has in a namespace. */
  names(namespace: string, kind: Kind): Promise<string[]>;
  /** Namespaces that have a view. */
  namespaces(): Promise<string[]>;
  /** Says that a namespace was filled; gives its birth mark (the one it has already, if any). */
  open(namespace: string): Promise<string>;
  /** Prolongs the sync marks of a namespace that is still the one of this birth mark. */
  heartbeat(namespace: string, birth: string, ttlMs: number, kinds: readonly Kind[]): Promise<Beat>;
  /**
   * Forgets a namespace in which there is nothing: no object, and no key that is not in the queue yet. False,
   * and nothing is done, when there is something, or when the birth mark is another one than `birth` ('':
   * whichever it is).
   */
  leave(namespace: string, birth: string): Promise<boolean>;
  /** Takes the sync marks of a namespace off: functions read live from now on. */
  unmark(namespace: string): Promise<void>;
  /** Takes the birth mark off as well: nobody can prolong the sync marks without filling it anew. */
  abandon(namespace: string): Promise<void>;
}

const applyChanges = loadScript('apply-changes');
const news = loadScript('news');
const settlePending = loadScript('settle-pending');
const heartbeat = loadScript('heartbeat');
const leave = loadScript('leave-namespace');

/** `birth` makes the mark of a namespace that has none: any text that no other fill would make. */
export function createViewWriter(
  redis: RedisClient,
  keys: ViewKeys,
  birth: () => string,
): ViewWriter {
  return {
    keys,
    apply: async (namespace, changes) => {
      const args = [viewBase(keys, namespace), TOMBSTONE_TTL_MS, ...changes.flatMap(toArguments)];
      const reply = await runScript(redis, applyChanges, [pendingKey(keys, namespace)], args);
      return readApplied(reply as AppliedReply);
    },
    settle: async (namespace, score, services) => {
      await runScript(redis, settlePending, [pendingKey(keys, namespace)], [score, ...services]);
    },
    overdue: (namespace, ms) => readOverdue(redis, pendingKey(keys, namespace), ms),
    news: async (namespace, kind, versions) => {
      const args = [
        viewBase(keys, namespace),
        kind,
        ...versions.flatMap(({ op, name, rv, uid }) => [OPS[op], name, rv, uid]),
      ];
      const answers = await runScript(redis, news, [pendingKey(keys, namespace)], args);
      return (answers as number[]).map((answer) => answer === 1);
    },
    names: (namespace, kind) => redis.hkeys(`${viewBase(keys, namespace)}${kind}`),
    namespaces: () => redis.smembers(namespacesKey(keys)),
    open: (namespace) => openNamespace(redis, keys, namespace, birth()),
    heartbeat: async (namespace, mark, ttlMs, kinds) => {
      const args = [viewBase(keys, namespace), mark, ttlMs, ...kinds];
      const found = await runScript(redis, heartbeat, [birthKey(keys, namespace)], args);
      return BEATS[found as number] ?? 'lost';
    },
    leave: (namespace, mark) => leaveNamespace(redis, keys, namespace, mark),
    unmark: (namespace) => forget(redis, markKeys(keys, namespace)),
    abandon: (namespace) =>
      forget(redis, [birthKey(keys, namespace), ...markKeys(keys, namespace)]),
  };
}

/** By the number that the script answers. */
const BEATS: readonly Beat[] = ['lost', 'marked', 'left', 'left-in-use'];

const MARKED: readonly Kind[] = ['service', 'workload', 'slice'];

function markKeys(keys: ViewKeys, namespace: string): string[] {
  const base = viewBase(keys, namespace);
  return MARKED.map((kind) => `${base}m:${kind}`);
}

async function openNamespace(
  redis: RedisClient,
  keys: ViewKeys,
  namespace: string,
  birth: string,
): Promise<string> {
  const key = birthKey(keys, namespace);
  await redis.set(key, birth, 'NX');
  await redis.sadd(namespacesKey(keys), namespace);
  return (await redis.get(key)) ?? '';
}

async function forget(redis: RedisClient, keys: string[]): Promise<void> {
  await redis.del(keys);
}

async function leaveNamespace(
  redis: RedisClient,
  keys: ViewKeys,
  namespace: string,
  birth: string,
): Promise<boolean> {
  const key = birthKey(keys, namespace);
  const args = [viewBase(keys, namespace), birth, LEFT_TTL_MS];
  if ((await runScript(redis, leave, [key], args)) !== 1) return false;
  const all = namespacesKey(keys);
  await redis.srem(all, namespace);
  // Of another hash tag, so no step of the script: somebody may have opened the namespace meanwhile. Who does
  // so from here on adds it after this.
  if ((await redis.exists(key)) === 1) await redis.sadd(all, namespace);
  return true;
}

/** How the scripts call it. */
const OPS = { upsert: '+', remove: '-' } as const;

function toArguments(change: Change): string[] {
  if (change.op === 'remove') {
    const { kind, name, rv, uid, index = '' } = change;
    return [OPS.remove, kind, name, rv, uid, index, ''];
  }
  const { name, rv, uid, index, body } = change.object;
  return [OPS.upsert, change.kind, name, rv, uid, index, body];
}

type AppliedReply = readonly [
  accepted: number,
  refused: number,
  score: string,
  contradicted: string,
  ...pairs: string[],
];

function readApplied(reply: AppliedReply): Applied {
  const [accepted, refused, score, contradicted, ...pairs] = reply;
  const dirty: { service: string; why: Kind }[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    dirty.push({ service: pairs[at] ?? '', why: (pairs[at + 1] ?? 'service') as Kind });
  }
  return { accepted, refused, score, contradicted, dirty };
}

async function readOverdue(
  redis: RedisClient,
  pending: string,
  olderThanMs: number,
): Promise<Pick<Applied, 'dirty' | 'score'>> {
  const limit = (await redisMicros(redis, pending)) - olderThanMs * 1000;
  const names = await redis.zrangebyscore(pending, '-inf', limit);
  const dirty = names.map((service) => ({ service, why: LEFT_PENDING }) as const);
  return { dirty, score: String(limit) };
}
