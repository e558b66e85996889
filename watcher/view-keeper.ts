import type { Kind } from '../core/codec.ts';
import { newerVersion } from '../core/resource-version.ts';
import type { CompleteList } from './kind-sink.ts';
import type { History, IdentityStore } from '../platform/redis/view/identity.ts';
import type { ViewWriter } from '../platform/redis/view/view-writer.ts';

export const KINDS: readonly Kind[] = ['service', 'workload', 'slice'];

/** Milliseconds. Marks expire after `ttl`, so that functions stop trusting a view nobody feeds. */
export const HEARTBEAT = { everyMs: 3_000, ttlMs: 10_000 } as const;

export interface ViewKeeperDeps {
  readonly openView: (identity: string) => ViewWriter;
  readonly identities: Pick<IdentityStore, 'observeList' | 'identityOf' | 'notePositions'>;
  /** As it was before any list of this watcher. */
  readonly history: History;
  /** Kinds whose watch is healthy now. */
  readonly healthyKinds: () => readonly Kind[];
  /** Another view is filled from now on, and nobody has heard of it yet. */
  readonly onMoved: () => void;
  /** Whether a namespace is among those that are served. */
  readonly accepts: (namespace: string) => boolean;
}

/**
 * What a complete list means for the view. `moved`: the API server's history went back, and the view
 * is another one now. `lost`: Redis lost data while the view was being filled. After either, all kinds
 * must be listed again. `opened`: the view has just come in sync.
 */
export type Listed = 'moved' | 'lost' | 'incomplete' | 'opened' | 'kept';

/** What came of prolonging the marks. */
export interface Beaten {
  /** Another watcher has seen history go back: as `moved` of a list. */
  readonly moved: boolean;
  /** Namespaces whose data is gone. */
  readonly lost: readonly string[];
}

/**
 * Whether the view is in sync, and what keeps it marked so: each namespace carries a birth mark from
 * before its first object is put there (its absence later means that Redis lost the data) and one
 * mark a kind that expires unless a watcher whose watch of that kind is healthy prolongs it.
 */
export class ViewKeeper {
  readonly #deps: ViewKeeperDeps;
  readonly #births = new Map<string, string>();
  /** Namespaces that got objects, each with the number of its latest use. */
  readonly #seen = new Map<string, number>();
  #uses = 0;
  /** Kinds that were listed since the view was in doubt, or since empty namespaces were left. */
  readonly #listed = new Set<Kind>();
  #history: History;
  #writer: ViewWriter;
  #inSync = false;
  #round = 0;

  constructor(deps: ViewKeeperDeps) {
    this.#deps = deps;
    this.#history = deps.history;
    this.#writer = deps.openView(deps.identities.identityOf(deps.history));
  }

  get writer(): ViewWriter {
    return this.#writer;
  }

  get inSync(): boolean {
    return this.#inSync;
  }

  /** Another one whenever all kinds must be listed again: what lists had shown before does not count. */
  get round(): number {
    return this.#round;
  }

  /**
   * A namespace is about to get objects, or has just got some; one that is new to a view in sync is marked at
   * once. Both must be told: between the two it may be left.
   */
  async seen(namespace: string): Promise<void> {
    this.#seen.set(namespace, (this.#uses += 1));
    if (this.#births.has(namespace)) return;
    await this.#open(namespace);
    if (this.#inSync) await this.#mark(namespace, this.#deps.healthyKinds());
  }

  /** A list of one kind is complete: it is in the view. */
  async listed(list: CompleteList): Promise<Listed> {
    const { kind, resourceVersion, seenBefore, round } = list;
    if (round !== this.#round) return 'incomplete';
    const before = withVersion(this.#history, kind, seenBefore);
    const { epoch } = await this.#deps.identities.observeList(list, before);
    // Kinds are listed side by side: another one may have brought the view in doubt meanwhile.
    if (round !== this.#round) return 'incomplete';
    if (epoch !== this.#history.epoch) {
      await this.#moveTo(epoch);
      return 'moved';
    }
    const versions = new Map([...this.#history.versions, [kind, resourceVersion] as const]);
    this.#history = { epoch, versions };
    this.#listed.add(kind);
    if (this.#inSync) return 'kept';
    if (this.#listed.size < KINDS.length) return 'incomplete';
    const lost = await this.#markAll(await this.namespaces(), KINDS);
    if (round !== this.#round) return 'incomplete';
    if (lost.length > 0) {
      this.doubt();
      return 'lost';
    }
    this.#inSync = true;
    return 'opened';
  }

  /** What the view holds is in doubt: all kinds must be listed again. */
  doubt(): void {
    this.#round++;
    this.#inSync = false;
    this.#births.clear();
    this.#listed.clear();
  }

  /**
   * All namespaces of the view that are served. What it has of others, from a time when they were served
   * or from a watcher that serves them, is nothing that our lists can call gone, or our marks in sync.
   */
  async namespaces(): Promise<string[]> {
    const known = (await this.#writer.namespaces()).filter(this.#deps.accepts);
    return [...new Set([...this.#seen.keys(), ...known])];
  }

  /** Names of one kind in each namespace of the view. */
  async known(kind: Kind): Promise<ReadonlyMap<string, readonly string[]>> {
    const all = await this.namespaces();
    const names = await Promise.all(all.map((namespace) => this.#writer.names(namespace, kind)));
    return new Map(all.map((namespace, at) => [namespace, names[at] ?? []]));
  }

  /**
   * Prolongs the marks, and notes how far the watches are, for watchers that start later. A view that
   * another watcher has left is left as well.
   */
  async beat(positions: ReadonlyMap<Kind, string>): Promise<Beaten> {
    if (!this.#inSync) return NOTHING_NEW;
    const round = this.#round;
    const epoch = await this.#deps.identities.notePositions(this.#history, positions);
    if (round !== this.#round) return NOTHING_NEW;
    if (epoch !== this.#history.epoch) {
      await this.#moveTo(epoch);
      return { moved: true, lost: [] };
    }
    const lost = await this.#markAll([...this.#births.keys()], this.#deps.healthyKinds());
    return round === this.#round ? { moved: false, lost } : NOTHING_NEW;
  }

  /**
   * Once all kinds were listed: forgets the namespaces in which there is nothing any more, here and in Redis.
   * One stays, as look-ups tell by the marks of others that a namespace without any is empty.
   */
  async leaveEmpty(): Promise<void> {
    if (!this.#inSync || this.#listed.size < KINDS.length) return;
    this.#listed.clear();
    const [, ...others] = await this.namespaces();
    await Promise.all(others.map((namespace) => this.#leave(namespace)));
  }

  /** Takes the marks off: nobody feeds this view any more. */
  async unmark(): Promise<void> {
    const namespaces = [...this.#births.keys()];
    await Promise.all(namespaces.map((namespace) => this.#writer.unmark(namespace)));
  }

  /**
   * Another view from now on: an empty one, to be filled by new lists. The former one has objects of a
   * history that is over, and must not be trusted until its marks run out: workers look for another
   * view only where they find no marks.
   */
  async #moveTo(epoch: string): Promise<void> {
    const { identities, onMoved, openView } = this.#deps;
    const former = this.#writer;
    this.#history = { epoch, versions: new Map() };
    this.#writer = openView(identities.identityOf(this.#history));
    this.doubt();
    onMoved();
    try {
      const namespaces = new Set([...this.#seen.keys(), ...(await former.namespaces())]);
      await Promise.all([...namespaces].map((namespace) => former.abandon(namespace)));
    } catch {
      // Redis is away. The marks run out by themselves, and every Service is looked at after that.
    }
  }

  async #markAll(namespaces: readonly string[], kinds: readonly Kind[]): Promise<string[]> {
    const marked = await Promise.all(namespaces.map((namespace) => this.#mark(namespace, kinds)));
    return namespaces.filter((_, at) => !marked[at]);
  }

  /** False when the data that was put there since its birth mark was made is gone. */
  async #mark(namespace: string, kinds: readonly Kind[]): Promise<boolean> {
    const birth = this.#births.get(namespace) ?? (await this.#open(namespace));
    const use = this.#seen.get(namespace);
    const beat = await this.#writer.heartbeat(namespace, birth, HEARTBEAT.ttlMs, kinds);
    if (beat === 'marked' || beat === 'lost') return beat === 'marked';
    // In doubt, or opened anew, meanwhile: whoever did that sees to the marks.
    if (this.#births.get(namespace) !== birth) return true;
    this.#births.delete(namespace);
    if (beat === 'left-in-use' || this.#seen.get(namespace) !== use) {
      return this.#mark(namespace, kinds);
    }
    this.#seen.delete(namespace);
    return true;
  }

  /** What this watcher knows of a namespace goes as what other watchers know: by the next heartbeat. */
  async #leave(namespace: string): Promise<void> {
    const left = await this.#writer.leave(namespace, this.#births.get(namespace) ?? '');
    if (left && this.#inSync && this.#births.has(namespace)) {
      await this.#mark(namespace, this.#deps.healthyKinds());
    }
  }

  async #open(namespace: string): Promise<string> {
    const round = this.#round;
    const birth = await this.#writer.open(namespace);
    // In doubt since: that mark may be another view's, or gone.
    if (round === this.#round) this.#births.set(namespace, birth);
    return birth;
  }
}

const NOTHING_NEW: Beaten = { moved: false, lost: [] };

/** What a watch has shown was there before a list that is asked for later. */
function withVersion(history: History, kind: Kind, version: string): History {
  const newest = newerVersion(version, history.versions.get(kind) ?? '');
  return { ...history, versions: new Map([...history.versions, [kind, newest]]) };
}
