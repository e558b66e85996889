import type { RedisClient } from '../client.ts';
import type { Kind } from '../../../core/codec.ts';
import { loadScript, runScript } from '../scripts.ts';
import { epochKey } from './keys.ts';

const observeList = loadScript('observe-list');

/** What is known of the API server's history: its epoch, and for each kind the newest list. */
export interface History {
  readonly epoch: string;
  readonly versions: ReadonlyMap<Kind, string>;
}

/** A complete list of one kind. */
export interface NotedList {
  readonly kind: Kind;
  readonly resourceVersion: string;
  /** It shows an object as older than the view had it by the list's own version. */
  readonly contradicted: boolean;
}

/**
 * The view's identity: its scope (core/view-scope.ts) and the epoch of the cluster's history. A list
 * older than what its own watcher had noted before it asked (etcd was restored from a backup), or that is
 * contradicted by the view, begins a new epoch.
 */
export interface IdentityStore {
  /** To be read before the first list is asked for. */
  history(): Promise<History>;
  /** Notes a list; `before` is the history as it was known when the list was asked for. */
  observeList(list: NotedList, before: History): Promise<History>;
  /**
   * Notes what watches have shown; newer than any list, perhaps. '' is nothing. Gives the epoch of now:
   * another one than that of `history` where another watcher has seen history go back.
   */
  notePositions(history: History, positions: ReadonlyMap<Kind, string>): Promise<string>;
  identityOf(history: History): string;
}

export function createIdentityStore(
  redis: RedisClient,
  prefix: string,
  scope: string,
): IdentityStore {
  const key = epochKey(prefix, scope);
  return {
    history: async () => {
      const { epoch = FIRST_EPOCH, ...fields } = await redis.hgetall(key);
      const versions = Object.entries(fields).map(
        ([field, version]) => [field.replace('rv:', '') as Kind, version] as const,
      );
      return { epoch, versions: new Map(versions) };
    },
    observeList: async ({ kind, resourceVersion, contradicted }, before) => {
      const floor = before.versions.get(kind) ?? '';
      const doubt = contradicted ? 'contradicted' : '';
      const args = [kind, resourceVersion, floor, before.epoch, doubt];
      const epoch = String(await runScript(redis, observeList, [key], args));
      const kept = epoch === before.epoch ? before.versions : new Map<Kind, string>();
      return { epoch, versions: new Map([...kept, [kind, resourceVersion]]) };
    },
    notePositions: async ({ epoch }, positions) => {
      for (const [kind, version] of positions) {
        if (version !== '') await runScript(redis, observeList, [key], [kind, version, '', epoch]);
      }
      // Where Redis lost it, the marks of the view tell.
      return (await redis.hget(key, 'epoch')) ?? epoch;
    },
    identityOf: ({ epoch }) => `${scope}.${epoch}`,
  };
}

const FIRST_EPOCH = '1';

/** The identity that watchers fill at present. */
export async function currentIdentity(
  redis: RedisClient,
  prefix: string,
  scope: string,
): Promise<string> {
  const epoch = (await redis.hget(epochKey(prefix, scope), 'epoch')) ?? FIRST_EPOCH;
  return `${scope}.${epoch}`;
}
