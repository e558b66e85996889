import type { RedisClient } from '../client.ts';
import type { EncodedRemote } from '../../../core/remote-codec.ts';
import { REMOTE_KINDS, type RemoteKind } from '../../../core/remote-records.ts';
import { loadClusterScript, runScript } from '../scripts.ts';
import { TOMBSTONE_TTL_MS } from '../view/keys.ts';
import { changesChannel, clusterViewBase, generationsKey, servingKey } from './keys.ts';

/** One object of a linked cluster as a watch or a list showed it. */
export type RemoteChange =
  | { readonly op: 'upsert'; readonly kind: RemoteKind; readonly object: EncodedRemote }
  | {
      readonly op: 'remove';
      readonly kind: RemoteKind;
      /** `namespace/name`. */
      readonly key: string;
      /** Of its deletion, or of the list that did not show it. */
      readonly rv: string;
    };

export interface RemoteApplied {
  /** Versions that the view did not know. */
  readonly accepted: number;
  /** Of these, the ones that look-ups can tell from what was there. */
  readonly changed: number;
  /** Objects that were left out because the view is full. */
  readonly over: number;
  /** Objects that the view has now. */
  readonly objects: number;
  /**
   * The oldest version by which the view knew better than an object that is there; '' if none. Where a
   * list gave that object and is not older than this, the history of that API server went back.
   */
  readonly contradicted: string;
}

/** What a generation's view holds already when it is opened. */
export interface OpenedView {
  readonly synced: ReadonlySet<RemoteKind>;
  /** The newest version that it was shown of each kind. */
  readonly positions: ReadonlyMap<RemoteKind, string>;
}

/** The generation was closed: another content is served, or the cluster is gone. */
export class ViewClosedError extends Error {
  constructor(cluster: string, generation: number) {
    super(`the view of cluster ${cluster}, generation ${generation}, is closed`);
    this.name = 'ViewClosedError';
  }
}

/** One generation of one linked cluster's view, as the watcher that owns the cluster fills it. */
export interface ClusterViewWriter {
  readonly cluster: string;
  readonly generation: number;
  /** To be called before anything is written. @throws ViewClosedError when a newer one serves. */
  open(): Promise<OpenedView>;
  /** @throws ViewClosedError when nothing of it may be written any more. */
  apply(changes: readonly RemoteChange[]): Promise<RemoteApplied>;
  /** Keys of one kind, a hundred or so at a time; one may come twice. */
  known(kind: RemoteKind): AsyncIterable<readonly string[]>;
  /** One kind was listed in full, as of `rv` ('' if there is no such version). @throws ViewClosedError */
  markSynced(kind: RemoteKind, rv: string): Promise<void>;
  /** Whether every kind was listed in full once. */
  isSynced(): Promise<boolean>;
  /** Lets look-ups read this generation; false where a newer one serves, or a kind is not synced. */
  promote(): Promise<boolean>;
  /** Objects in it. */
  objects(): Promise<number>;
}

export interface ClusterViewOptions {
  readonly prefix: string;
  readonly cluster: string;
  readonly generation: number;
  /** Objects at most. */
  readonly maxObjects: number;
}

const SCRIPTS = {
  open: loadClusterScript('open'),
  apply: loadClusterScript('apply'),
  known: loadClusterScript('known'),
  markSynced: loadClusterScript('mark-synced'),
  promote: loadClusterScript('promote'),
};

/** Names in one message at most; more are told as "all". */
const MAX_NAMES_TOLD = 500;
const NAMES_A_STEP = 100;

/** All methods reject with ioredis' error while Redis is away. */
export function createClusterViewWriter(
  redis: RedisClient,
  options: ClusterViewOptions,
): ClusterViewWriter {
  const { prefix, cluster, generation, maxObjects } = options;
  const base = clusterViewBase(prefix, cluster, generation);
  const meta = `${base}meta`;
  const serving = servingKey(prefix, cluster);
  const channel = changesChannel(prefix);
  const closed = (): ViewClosedError => new ViewClosedError(cluster, generation);
  return {
    cluster,
    generation,
    open: async () => {
      const keys = [serving, generationsKey(prefix, cluster)];
      const fields = await runScript(redis, SCRIPTS.open, keys, [base, generation]);
      if (fields === null) throw closed();
      return readMeta(fields as string[]);
    },
    apply: async (changes) => {
      const limits = [TOMBSTONE_TTL_MS, maxObjects, MAX_NAMES_TOLD];
      const args = [base, channel, cluster, generation, ...limits, ...changes.flatMap(toArguments)];
      return readApplied(await runScript(redis, SCRIPTS.apply, [serving], args), closed);
    },
    known: (kind) => namesOf(redis, `${base}${kind}`),
    markSynced: async (kind, rv) => {
      const marked = await runScript(redis, SCRIPTS.markSynced, [meta], [base, kind, rv]);
      if (marked !== 1) throw closed();
    },
    isSynced: () => allSynced(redis, meta),
    promote: async () => {
      const args = [base, channel, cluster, generation];
      return (await runScript(redis, SCRIPTS.promote, [serving], args)) === 1;
    },
    objects: () => countObjects(redis, base),
  };
}

async function allSynced(redis: RedisClient, meta: string): Promise<boolean> {
  const marks = await redis.hmget(meta, ...REMOTE_KINDS.map((kind) => `synced:${kind}`));
  return marks.every((mark) => mark === '1');
}

async function countObjects(redis: RedisClient, base: string): Promise<number> {
  const counts = await Promise.all(REMOTE_KINDS.map((kind) => redis.hlen(`${base}${kind}`)));
  return counts.reduce((sum, count) => sum + count, 0);
}

function toArguments(change: RemoteChange): string[] {
  if (change.op === 'remove') return ['-', change.kind, change.key, change.rv, '', ''];
  const { key, rv, uid, service, body } = change.object;
  return ['+', change.kind, key, rv, uid, service, body];
}

function readApplied(reply: unknown, closed: () => Error): RemoteApplied {
  const [open, accepted = 0, changed = 0, over = 0, objects = 0, contradicted = ''] = reply as [
    number,
    ...([number, number, number, number, string] | []),
  ];
  if (open !== 1) throw closed();
  return { accepted, changed, over, objects, contradicted };
}

function readMeta(fields: readonly string[]): OpenedView {
  const meta = new Map<string, string>();
  for (let at = 0; at < fields.length; at += 2) meta.set(fields[at] ?? '', fields[at + 1] ?? '');
  const positions = REMOTE_KINDS.flatMap((kind) => {
    const rv = meta.get(`rv:${kind}`);
    return rv === undefined ? [] : [[kind, rv] as const];
  });
  const synced = REMOTE_KINDS.filter((kind) => meta.get(`synced:${kind}`) === '1');
  return { synced: new Set(synced), positions: new Map(positions) };
}

async function* namesOf(
  redis: RedisClient,
  key: string,
): AsyncGenerator<string[], void, undefined> {
  let cursor = '0';
  do {
    const reply = await runScript(redis, SCRIPTS.known, [key], [cursor, NAMES_A_STEP]);
    const [next = '0', ...names] = reply as string[];
    cursor = next;
    yield names;
  } while (cursor !== '0');
}
