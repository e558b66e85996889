import type { ReflectorState } from './reflector.ts';

export interface ComebackDeps {
  /** How the watch of each kind is now. */
  readonly states: () => readonly ReflectorState['kind'][];
  /** After so long without a whole set of watches the view is no longer marked as in sync, ms. */
  readonly marksLastMs: number;
  /** Keeps the keys that become dirty pending. */
  readonly hold: () => void;
  /** Marks the view, and enqueues what is pending. */
  readonly goOn: () => void;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs: () => number;
}

/** Kinds come back within a second of one another, as that is how often each is tried; ms. */
const TOGETHER_MS = 1_500;
/** A list of a large cluster takes longer; keys that wait for it wait no longer than this, ms. */
const LONGEST_MS = 10_000;

/**
 * Brings a watcher back after an outage that outlasted the marks of its view. The keys that come of what
 * happened meanwhile are held until every kind is watched and the view is marked: a worker that finds
 * no marks reads live, and a burst of keys would then be two lists each, of a server that has just
 * come back. The start of a watcher is no other matter.
 *
 * A kind that must be listed anew after a failure holds keys back however short the outage was: what it
 * missed comes at once, and a plan from workloads of now and a Service of a while ago could take an
 * endpoint away that neither time wants gone.
 */
export class Comeback {
  readonly #deps: ComebackDeps;
  /** Since when a watch has failed and not all kinds are watched; null while they are. */
  #brokenSince: number | null = null;
  #held: { readonly since: number; timer: NodeJS.Timeout } | null = null;

  constructor(deps: ComebackDeps) {
    this.#deps = deps;
  }

  /** A watch has changed its state; the view is known to be in sync but for what watches missed. */
  changed(to: ReflectorState['kind']): void {
    const now = this.#deps.monotonicMs();
    if (this.#deps.states().every((state) => state === 'watching')) {
      const wasBroken = this.#brokenSince !== null;
      this.#brokenSince = null;
      this.stop();
      if (wasBroken) this.#deps.goOn();
      return;
    }
    if (to === 'retrying') this.#brokenSince ??= now;
    const arrives = to === 'listing' || to === 'watching';
    if (!arrives || this.#held !== null || this.#brokenSince === null) return;
    const outlasted = now - this.#brokenSince > this.#deps.marksLastMs;
    if (!outlasted && to !== 'listing') return;
    this.#deps.hold();
    this.#held = { since: now, timer: setTimeout(() => this.#look(), TOGETHER_MS) };
  }

  /** Forgets what it waits for. */
  stop(): void {
    clearTimeout(this.#held?.timer);
    this.#held = null;
  }

  /** A kind that stays away must not keep the others from being served. */
  #look(): void {
    if (this.#held === null) return;
    const waited = this.#deps.monotonicMs() - this.#held.since;
    if (this.#deps.states().includes('listing') && waited < LONGEST_MS) {
      this.#held.timer = setTimeout(() => this.#look(), TOGETHER_MS);
      return;
    }
    this.stop();
    // What comes next of those that are back is served at once.
    this.#brokenSince = this.#deps.monotonicMs();
    this.#deps.goOn();
  }
}
