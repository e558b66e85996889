import type { EndpointsRoute } from './routes.ts';
import type { Target } from './target.ts';

export interface TargetsDeps {
  readonly make: (route: EndpointsRoute) => Target;
  readonly monotonicMs: () => number;
}

interface Kept {
  readonly target: Target;
  usedAt: number;
}

/** Targets that are kept at most. */
const MOST_TARGETS = 10_000;
/** How long one is kept that nobody asks for, ms: it may hold sets that the cache has let go of. */
const KEEP_MS = 60_000;

/** What is asked for again and again. Who watches a target holds it, whether or not it is kept here. */
export class Targets {
  readonly #deps: TargetsDeps;
  readonly #kept = new Map<EndpointsRoute, Kept>();

  constructor(deps: TargetsDeps) {
    this.#deps = deps;
  }

  /** The same as long as somebody asks for it at least every minute. */
  of(route: EndpointsRoute): Target {
    let kept = this.#kept.get(route);
    if (kept === undefined) {
      if (this.#kept.size >= MOST_TARGETS) this.#kept.clear();
      this.#kept.set(route, (kept = { target: this.#deps.make(route), usedAt: 0 }));
    }
    kept.usedAt = this.#deps.monotonicMs();
    return kept.target;
  }

  /** To be called each second. */
  tick(): void {
    const now = this.#deps.monotonicMs();
    for (const [route, { usedAt }] of this.#kept) {
      if (now - usedAt > KEEP_MS) this.#kept.delete(route);
    }
  }
}
