import type { Kind } from '../core/codec.ts';
import type { ViewWriter } from '../platform/redis/view/view-writer.ts';

export const KINDS: readonly Kind[] = ['service', 'workload', 'slice'];

/** Milliseconds. Marks expire after `ttl`, so that functions stop trusting a view nobody feeds. */
export const HEARTBEAT = { everyMs: 3_000, ttlMs: 10_000 } as const;

/**
 * Whether the view is in sync, and what keeps it marked so: each namespace carries a birth mark from
 * the moment it was filled (its absence later means that Redis lost the data) and one mark a kind
 * that expires unless a watcher whose watch of that kind is healthy prolongs it.
 */
export interface ViewKeeper {
  writer(): ViewWriter;
  inSync(): boolean;
  /** A namespace has objects; one that is new to a view in sync is marked at once. */
  seen(namespace: string): Promise<void>;
  /** A list of one kind is complete. `moved`: it belongs to another identity than the view's. */
  listed(kind: Kind, resourceVersion: string): Promise<'moved' | 'opened' | 'incomplete' | 'kept'>;
  /** Names of one kind in each namespace of the view. */
  known(kind: Kind): Promise<ReadonlyMap<string, readonly string[]>>;
  /** Prolongs the marks; gives the namespaces whose data is gone. */
  beat(): Promise<string[]>;
  /** All namespaces of the view. */
  namespaces(): Promise<string[]>;
  /** What the view holds is in doubt: all kinds must be listed again. */
  doubt(): void;
}

export interface ViewKeeperDeps {
  readonly openView: (identity: string) => ViewWriter;
  readonly identity: string;
  /** Notes a list's version in Redis and gives the identity that it belongs to. */
  readonly observeList: (kind: Kind, resourceVersion: string) => Promise<string>;
  /** Kinds whose watch is healthy now. */
  readonly healthyKinds: () => readonly Kind[];
}

export function createViewKeeper(deps: ViewKeeperDeps): ViewKeeper {
  let writer = deps.openView(deps.identity);
  let inSync = false;
  const births = new Map<string, string>();
  const seen = new Set<string>();
  const listed = new Set<Kind>();

  const mark = async (namespace: string, kinds: readonly Kind[]): Promise<void> => {
    const birth = await writer.open(namespace);
    births.set(namespace, birth);
    await writer.heartbeat(namespace, birth, HEARTBEAT.ttlMs, kinds);
  };
  const doubt = (): void => {
    inSync = false;
    births.clear();
    listed.clear();
  };
  const namespaces = async (): Promise<string[]> => [
    ...new Set([...seen, ...(await writer.namespaces())]),
  ];

  return {
    writer: () => writer,
    inSync: () => inSync,
    namespaces,
    doubt,
    seen: async (namespace) => {
      seen.add(namespace);
      if (inSync && !births.has(namespace)) await mark(namespace, deps.healthyKinds());
    },
    listed: async (kind, resourceVersion) => {
      const identity = await deps.observeList(kind, resourceVersion);
      if (identity !== writer.keys.identity) {
        writer = deps.openView(identity);
        doubt();
        return 'moved';
      }
      listed.add(kind);
      if (inSync) return 'kept';
      if (listed.size < KINDS.length) return 'incomplete';
      const all = await namespaces();
      await Promise.all(all.map((namespace) => mark(namespace, KINDS)));
      inSync = true;
      return 'opened';
    },
    known: async (kind) => {
      const all = await namespaces();
      const names = await Promise.all(all.map((namespace) => writer.names(namespace, kind)));
      return new Map(all.map((namespace, at) => [namespace, names[at] ?? []]));
    },
    beat: async () => {
      if (!inSync) return [];
      const kinds = deps.healthyKinds();
      const results = await Promise.all(
        [...births].map(async ([namespace, birth]) => {
          const alive = await writer.heartbeat(namespace, birth, HEARTBEAT.ttlMs, kinds);
          return alive ? [] : [namespace];
        }),
      );
      return results.flat();
    },
  };
}
