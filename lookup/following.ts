import type { ClusterTarget } from './cluster-target.ts';

/** When to look again at members that could not be read, ms. */
const AGAIN_MS = 1_000;

type Ends = readonly (() => void)[];

/** Watches the members of a local name, and those of the next one once they were read. */
export class Following {
  readonly #members: () => readonly ClusterTarget[];
  readonly #listener: () => void;
  /** Of the members that count. */
  #ends: Ends = [];
  /** Of those that are still being read. */
  #next: Ends = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param members of the name as it is when they are asked for. */
  constructor(members: () => readonly ClusterTarget[], listener: () => void) {
    this.#members = members;
    this.#listener = listener;
  }

  begin(): void {
    this.#ends = this.#members().map((target) => target.watch(this.#listener));
  }

  /**
   * Watches other members from now on. `done` is called once they were read: until then what is known of
   * the old ones is what is told, as a set must not shrink because another is being read.
   */
  replace(done: () => void): void {
    clearTimeout(this.#timer);
    this.#next.forEach((end) => end());
    const targets = this.#members();
    const ends: Ends = targets.map((target) =>
      target.watch(() => {
        if (this.#ends === ends) this.#listener();
      }),
    );
    this.#next = ends;
    void this.#read(targets, ends, done);
  }

  end(): void {
    clearTimeout(this.#timer);
    [...this.#ends, ...this.#next].forEach((end) => end());
    this.#ends = [];
    this.#next = [];
  }

  async #read(targets: readonly ClusterTarget[], ends: Ends, done: () => void): Promise<void> {
    await Promise.all(targets.flatMap((target) => target.load() ?? []));
    // Overtaken by other members, or ended.
    if (this.#next !== ends) return;
    if (targets.some(isUnread)) {
      this.#timer = setTimeout(() => void this.#read(targets, ends, done), AGAIN_MS);
      return;
    }
    this.#ends.forEach((end) => end());
    this.#ends = ends;
    this.#next = [];
    done();
  }
}

/** Redis could not be asked; whatever else may be the matter with a member is an answer. */
function isUnread(target: ClusterTarget): boolean {
  const known = target.now();
  return known.kind === 'unknown' && known.refusal.code === 'Unavailable';
}
