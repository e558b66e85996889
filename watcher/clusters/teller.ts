import type { ClusterWatch } from '../../core/cluster.ts';
import { describeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { ClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import type { ClusterOwner } from './cluster-owner.ts';

export interface TellerDeps {
  /** Id of this process. */
  readonly id: string;
  readonly registry: Pick<ClusterRegistry, 'tellWatch' | 'now'>;
  readonly log: Logger;
  /** What another process told within so many ms stands, unless this one knows better. */
  readonly others: number;
}

/** Changes of one moment are told as one, ms. */
const GATHER_MS = 20;

/** Tells the registry how the watches of this process' clusters are. */
export class Teller {
  readonly #deps: TellerDeps;
  readonly #soon = new Map<ClusterOwner, NodeJS.Timeout>();
  readonly #telling = new Map<ClusterOwner, Promise<void>>();
  #watches: ReadonlyMap<string, ClusterWatch> = new Map();
  /** By Redis' clock, minus this process' own, ms. */
  #ahead = 0;

  constructor(deps: TellerDeps) {
    this.#deps = deps;
  }

  /** Tells of all; `watches`: what the registry has of them now. */
  tellAll(owners: readonly ClusterOwner[], watches: ReadonlyMap<string, ClusterWatch>): void {
    this.#watches = watches;
    for (const owner of owners) this.#tell(owner);
  }

  /** Something changed; after the owner was closed nothing is told. */
  tellSoon(owner: ClusterOwner): void {
    if (this.#soon.has(owner) || owner.closed) return;
    const timer = setTimeout(() => {
      this.#soon.delete(owner);
      this.#tell(owner);
    }, GATHER_MS);
    this.#soon.set(owner, timer);
  }

  /** Resolves once nothing is being told of owners that were closed. */
  async idle(): Promise<void> {
    for (const [owner, timer] of this.#soon) {
      if (!owner.closed) continue;
      clearTimeout(timer);
      this.#soon.delete(owner);
    }
    await Promise.all(this.#telling.values());
  }

  #tell(owner: ClusterOwner): void {
    if (owner.closed) return;
    if (this.#telling.has(owner)) return this.tellSoon(owner);
    const told = this.#tellOnce(owner)
      .catch((error: unknown) => {
        const { log } = this.#deps;
        log.debug({ cluster: owner.cluster, error: describeError(error) }, 'a watch was not told');
      })
      .finally(() => this.#telling.delete(owner));
    this.#telling.set(owner, told);
  }

  async #tellOnce(owner: ClusterOwner): Promise<void> {
    const { id, registry } = this.#deps;
    this.#ahead = (await registry.now()) - Date.now();
    const report = owner.report();
    if (report === null || owner.closed) return;
    if (this.#isToldBetter(owner.cluster, report.inSync)) return;
    const { nextTryAt } = report;
    const at = nextTryAt === null ? null : nextTryAt + this.#ahead;
    await registry.tellWatch({ ...report, nextTryAt: at, owner: id });
  }

  /** Where two processes watch one cluster, the one that is in sync speaks for it. */
  #isToldBetter(cluster: string, inSync: boolean): boolean {
    const told = this.#watches.get(cluster);
    if (told === undefined || told.owner === this.#deps.id || !told.healthy || inSync) return false;
    return Date.now() + this.#ahead - told.at < this.#deps.others;
  }
}
