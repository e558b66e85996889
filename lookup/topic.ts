import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { tailOf } from './answers.ts';
import { difference } from './diff.ts';
import { changeFrame, fullFrame, goneFrame, LAST_CHUNK, stateFrame } from './frames.ts';
import type { Known, Refusal } from './known.ts';
import type { Target } from './target.ts';

/** Somebody who is told of every change. */
export interface Subscriber {
  readonly socket: Socket;
  /** Number of the last event that was written to it. */
  at: number;
  /** Since when it has read too little to be written to, ms; null: it keeps up. */
  slowSince: number | null;
}

export interface TopicDeps {
  /** By Redis' clock, ms. */
  readonly now: () => number;
  readonly monotonicMs: () => number;
  /** ms from when a change was heard of to its last write. */
  readonly delivered: (ms: number) => void;
  readonly slowReader: () => void;
  /** Most bytes of events that are remembered for who comes back. */
  readonly memory: () => number;
}

/** A reader with so much unread is left out until it has read all, bytes. */
const BACKLOG = 262_144;
/** Subscribers that are written to before others have their turn. */
const BATCH = 256;
const MOST_EVENTS = 64;

interface LoggedEvent {
  /** Versions of the set before and after; equal where the set is not what changed. */
  readonly before: string;
  readonly after: string;
  readonly frame: Buffer;
}

/**
 * All who watch one thing. Events are numbered and made once; each subscriber has a place among them.
 * Who falls behind what is remembered gets the full set anew.
 */
export class Topic {
  readonly #target: Target;
  readonly #deps: TopicDeps;
  readonly #subscribers = new Set<Subscriber>();
  readonly #unwatch: () => void;
  /** The last events, the latest with number `#last`. */
  #events: LoggedEvent[] = [];
  /** The last of them alone: all that most subscribers lack. */
  #newest: LoggedEvent[] = [];
  #bytes = 0;
  #last = 0;
  #known: Known;
  #pumping = false;
  /** When the changes were heard of that are being written. */
  #heard: number[] = [];
  #heardLast = -Infinity;
  /** Nobody is subscribed since, ms; null while somebody is. */
  idleSince: number | null;
  #ended = false;

  constructor(target: Target, deps: TopicDeps) {
    this.#target = target;
    this.#deps = deps;
    this.idleSince = deps.monotonicMs();
    this.#unwatch = target.watch(() => this.#update());
    this.#known = target.now();
  }

  get known(): Known {
    return this.#known;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get subscribers(): ReadonlySet<Subscriber> {
    return this.#subscribers;
  }

  /** Begins to write to this socket, whose response head was sent; `lastId` is what it saw last. */
  join(socket: Socket, lastId: string, retryMs: number): Subscriber {
    const subscriber: Subscriber = { socket, at: this.#last, slowSince: null };
    this.#subscribers.add(subscriber);
    this.idleSince = null;
    const missed = this.#since(lastId);
    if (missed === null) {
      this.#writeFull(subscriber, retryMs);
    } else {
      for (const { frame } of missed) socket.write(frame);
      socket.write(stateFrame(this.#known, this.#deps.now(), retryMs));
    }
    return subscriber;
  }

  leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0) this.idleSince = this.#deps.monotonicMs();
  }

  /** Follows what it is about no more; who is subscribed may go on elsewhere from where it is. */
  close(): void {
    this.#ended = true;
    this.#unwatch();
    for (const subscriber of this.#subscribers) this.#farewell(subscriber, LAST_CHUNK);
  }

  /** The events that make the present set of that version; null when they are not remembered. */
  #since(version: string): readonly LoggedEvent[] | null {
    if (this.#known.kind !== 'set') return [];
    if (version === this.#known.set.version) return [];
    const from = this.#events.findLastIndex((event) => event.before === version);
    if (version === '' || from < 0) return null;
    return this.#events.slice(from).filter(({ before, after }) => before !== after);
  }

  #update(): void {
    if (this.#ended) return;
    const before = this.#known;
    const after = this.#target.now();
    this.#known = after;
    if (after.kind === 'absent') return this.#end(after.refusal);
    if (after.kind === 'unknown') {
      if (before.kind === 'set') return this.#end(after.refusal);
      if (stateOf(before) !== stateOf(after)) this.#emitState();
      return;
    }
    if (before.kind !== 'set') {
      const timing = { now: this.#deps.now(), retryMs: null };
      const frame = fullFrame(after.set, tailOf(after.set).bytes, after.status, timing);
      return this.#emit({ before: '', after: after.set.version, frame: Buffer.concat(frame) });
    }
    if (before.set.version === after.set.version) {
      if (stateOf(before) !== stateOf(after)) this.#emitState();
      return;
    }
    const sets = { before: before.set, after: after.set };
    const changes = difference(before.set, after.set) ?? { add: [], remove: [] };
    const frame = changeFrame(sets, changes, after.status, this.#deps.now());
    this.#emit({ before: before.set.version, after: after.set.version, frame });
  }

  #emitState(): void {
    const known = this.#known;
    const version = known.kind === 'set' ? known.set.version : '';
    const frame = stateFrame(known, this.#deps.now(), null);
    this.#emit({ before: version, after: version, frame });
  }

  #emit(event: LoggedEvent): void {
    this.#events.push(event);
    this.#newest = [event];
    this.#bytes += event.frame.length;
    this.#last += 1;
    const most = this.#deps.memory();
    // The newest stays whatever its size: it is on its way.
    while (this.#events.length > 1 && (this.#bytes > most || this.#events.length > MOST_EVENTS)) {
      this.#bytes -= this.#events.shift()?.frame.length ?? 0;
    }
    this.#noteHeard(event);
    void this.#pump();
  }

  /** Of each change once: other events tell of nothing that was heard of just now. */
  #noteHeard({ before, after }: LoggedEvent): void {
    const heard = this.#target.changedAt();
    if (heard === null || heard === this.#heardLast || before === '' || before === after) return;
    this.#heardLast = heard;
    this.#heard.push(heard);
  }

  /** Writes to every subscriber what it has not got yet. */
  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    for (let goal = -1; goal !== this.#last;) {
      goal = this.#last;
      let written = 0;
      for (const subscriber of this.#subscribers) {
        if (this.#ended) return;
        this.#deliver(subscriber);
        written += 1;
        if (written % BATCH === 0) await nextTurn();
      }
    }
    this.#pumping = false;
    const now = this.#deps.monotonicMs();
    for (const heard of this.#heard.splice(0)) this.#deps.delivered(now - heard);
  }

  #deliver(subscriber: Subscriber): void {
    const { socket, slowSince, at } = subscriber;
    if (slowSince !== null || at === this.#last) return;
    if (socket.writableLength > BACKLOG) return this.#leaveOut(subscriber);
    const missed = this.#last - at;
    if (missed > this.#events.length) return this.#writeFull(subscriber, null);
    const due = missed === 1 ? this.#newest : this.#events.slice(-missed);
    for (const { frame } of due) socket.write(frame);
    subscriber.at = this.#last;
  }

  #leaveOut(subscriber: Subscriber): void {
    subscriber.slowSince = this.#deps.monotonicMs();
    this.#deps.slowReader();
    subscriber.socket.once('drain', () => {
      subscriber.slowSince = null;
      if (!this.#ended) this.#writeFull(subscriber, null);
    });
  }

  /** The full set, or how it stands while there is none. */
  #writeFull(subscriber: Subscriber, retryMs: number | null): void {
    const { socket } = subscriber;
    const known = this.#known;
    const now = this.#deps.now();
    subscriber.at = this.#last;
    if (known.kind !== 'set') {
      socket.write(stateFrame(known, now, retryMs));
      return;
    }
    socket.cork();
    for (const piece of fullFrame(known.set, tailOf(known.set).bytes, known.status, {
      now,
      retryMs,
    })) {
      socket.write(piece);
    }
    socket.uncork();
  }

  #end(refusal: Refusal): void {
    this.#ended = true;
    this.#unwatch();
    const frame = goneFrame(refusal);
    for (const subscriber of this.#subscribers) this.#farewell(subscriber, frame);
  }

  /** The last that a subscriber hears; it has as long as a slow reader to take it. */
  #farewell(subscriber: Subscriber, frame: Buffer | string): void {
    subscriber.slowSince ??= this.#deps.monotonicMs();
    subscriber.socket.write(frame);
    subscriber.socket.destroySoon();
  }
}

function stateOf(known: Known): string {
  const tag = known.status?.tag ?? '';
  return known.kind === 'set' ? tag : `${tag} ${known.refusal.error}`;
}
