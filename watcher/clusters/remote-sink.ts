import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiObject } from '../../core/api-objects.ts';
import type { RemoteKind } from '../../core/remote-records.ts';
import { newerVersion, olderVersion } from '../../core/resource-version.ts';
import type { RemoteChange } from '../../platform/redis/clusters/cluster-view-writer.ts';
import type { ReflectorSink, ReflectorState } from '../reflector.ts';
import type { Filler } from './filler.ts';
import { changeOf, listedOf, versionOf, type RemoteChangeOptions } from './remote-change.ts';

/** The API server's history went back: versions of the view and of the list do not compare. */
class HistoryMovedError extends Error {
  constructor(cluster: string, kind: RemoteKind) {
    super(
      `the ${kind} list of cluster ${cluster} is older than its view: the history of its API server went back`,
    );
    this.name = 'HistoryMovedError';
  }
}

export interface RemoteSinkDeps {
  readonly cluster: string;
  readonly kind: RemoteKind;
  readonly filler: Filler;
  readonly options: RemoteChangeOptions;
  /** The newest version of this kind that the view was shown before; '' if none. */
  readonly position: string;
  /** A list is in the view; `changed`: how much of it the view did not know. */
  readonly onListed: (changed: number) => void;
  readonly onHistoryMoved: (error: Error) => void;
  readonly onState: (state: ReflectorState) => void;
}

/** Objects that are made ready for the view in one go; between two goes others get their turn. */
const OBJECTS_A_TURN = 50;

/**
 * Takes what the reflector of one kind of a linked cluster delivers into the view. A list is compared
 * with the view itself: what the view has and the list has not is gone, as of the list's version.
 */
export class RemoteSink implements ReflectorSink<ApiObject> {
  readonly #deps: RemoteSinkDeps;
  #listed = new Set<string>();
  #changed = 0;
  #contradicted = '';
  /** Shown before the list under way was asked for; a list that is older than this cannot be. */
  #newest: string;

  constructor(deps: RemoteSinkDeps) {
    this.#deps = deps;
    this.#newest = deps.position;
  }

  async onPage(items: readonly ApiObject[]): Promise<void> {
    const { kind, filler, options } = this.#deps;
    const listed = this.#listed;
    for (let at = 0; at < items.length; at += OBJECTS_A_TURN) {
      await nextTurn();
      const some = items.slice(at, at + OBJECTS_A_TURN);
      const changes = some.flatMap((item) => listedOf(kind, item, options) ?? []);
      for (const { object } of changes) listed.add(object.key);
      this.#note(await filler.apply(changes));
      // Given up meanwhile: the rest belongs to nothing.
      if (this.#listed !== listed) return;
    }
  }

  async onListed(resourceVersion: string): Promise<void> {
    const { kind, filler, onListed } = this.#deps;
    const listed = this.#listed;
    this.#checkHistory(resourceVersion);
    for await (const keys of filler.known(kind)) {
      // Stopped meanwhile. What the list had shown is forgotten: everything would seem to have vanished.
      if (this.#listed !== listed) return;
      const vanished = keys.filter((key) => !listed.has(key));
      const removals = vanished.map((key): RemoteChange => ({
        op: 'remove',
        kind,
        key,
        rv: resourceVersion,
      }));
      this.#note(await filler.apply(removals));
    }
    await filler.markSynced(kind, resourceVersion);
    const changed = this.#changed;
    this.#newest = newerVersion(this.#newest, resourceVersion);
    this.onListAbandoned();
    onListed(changed);
  }

  onListAbandoned(): void {
    this.#listed = new Set();
    this.#changed = 0;
    this.#contradicted = '';
  }

  onEvent(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: ApiObject): void {
    const { kind, filler, options } = this.#deps;
    const change = changeOf(type, kind, object, options);
    if (change === null) return;
    this.#newest = newerVersion(this.#newest, versionOf(change));
    filler.push(change);
  }

  onBatchEnd(): void {
    this.#deps.filler.flush();
  }

  onState(state: ReflectorState): void {
    this.#deps.onState(state);
  }

  #note({ changed, contradicted }: Awaited<ReturnType<Filler['apply']>>): void {
    this.#changed += changed;
    this.#contradicted = olderVersion(this.#contradicted, contradicted);
  }

  /**
   * Within one history no list is older than what was shown before it was asked for, and none shows an
   * object in an older version than one that is as old as the list itself.
   */
  #checkHistory(resourceVersion: string): void {
    const { cluster, kind, onHistoryMoved } = this.#deps;
    if (!/^\d{1,40}$/.test(resourceVersion)) throw new Error('the list has no version to go by');
    const older = newerVersion(this.#newest, resourceVersion) !== resourceVersion;
    const contradicted =
      this.#contradicted !== '' &&
      newerVersion(resourceVersion, this.#contradicted) === resourceVersion;
    if (!older && !contradicted) return;
    const error = new HistoryMovedError(cluster, kind);
    onHistoryMoved(error);
    throw error;
  }
}
