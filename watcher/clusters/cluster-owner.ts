import { describeError } from '../../core/errors.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import type { ClusterViewWriter } from '../../platform/redis/clusters/cluster-view-writer.ts';
import type { ClusterPurger } from '../../platform/redis/clusters/purge.ts';
import type { WatchReport } from '../../platform/redis/clusters/registry.ts';
import { ContentNumber } from './content-number.ts';
import {
  GenerationWatch,
  type GenerationFault,
  type KindCounts,
  type RemoteWatchSettings,
} from './generation-watch.ts';
import { reportOf } from './report.ts';

/** What is to be watched of a cluster. */
export interface ClusterTarget {
  readonly cluster: string;
  /** Of the content that was accepted; 0: there is none, any generation will do. */
  readonly generation: number;
  /** Makes a client of the accepted content, the credentials read at that moment. */
  readonly connect: (signal: AbortSignal) => Promise<KubeClient>;
}

export interface ClusterOwnerDeps extends RemoteWatchSettings {
  readonly cluster: string;
  readonly openView: (cluster: string, generation: number) => ClusterViewWriter;
  readonly purger: ClusterPurger;
  readonly nextGeneration: () => Promise<number>;
  /** What `report` tells may have changed. */
  readonly onChange: () => void;
}

/** A view that was full is tried again after this, ms. */
const FULL_RETRY_MS = 600_000;

/**
 * Watches one cluster, make-before-break. There is the watch of the generation that look-ups read, and
 * beside it, when a newer content was accepted, that of the next one, which takes its place only once
 * it is in the view in full. Each is an object of its own with a view of its own: the end of one, however
 * late, can not touch the other.
 */
export class ClusterOwner {
  readonly #deps: ClusterOwnerDeps;
  readonly #retiring = new Set<Promise<void>>();
  readonly #number: ContentNumber;
  #target: ClusterTarget;
  #current: GenerationWatch | null = null;
  #next: GenerationWatch | null = null;
  /** What look-ups read, 0: nothing; null until the first look. */
  #serving: number | null = null;
  /** Views before this generation are gone. */
  #tidied = 0;
  #fullUntil = 0;
  #stepping: Promise<void> | null = null;
  #again = false;
  #closed = false;

  constructor(deps: ClusterOwnerDeps, target: ClusterTarget) {
    this.#deps = deps;
    this.#target = target;
    this.#number = new ContentNumber(target.generation, deps.nextGeneration);
  }

  get closed(): boolean {
    return this.#closed;
  }

  get cluster(): string {
    return this.#deps.cluster;
  }

  /** Says what is to be watched; to be repeated now and then, as others may act on the cluster, too. */
  aim(target: ClusterTarget): void {
    this.#target = target;
    // What was begun is of the content before.
    if (this.#number.aim(target.generation)) this.#dropNext();
    this.#pursue();
  }

  /** How the watches are; null while it is not known what serves. */
  report(): Omit<WatchReport, 'owner'> | null {
    const serving = this.#serving;
    if (serving === null) return null;
    const wanted = this.#target.generation;
    const [current, next] = [this.#current, this.#next];
    return reportOf({ cluster: this.cluster, serving, wanted, current, next });
  }

  /** Lists everything again, where anything is watched. */
  compare(reason: string): void {
    for (const watch of [this.#current, this.#next]) watch?.compare(reason);
  }

  /** Of the watches that there are now. */
  counts(): KindCounts[] {
    return (this.#current ?? this.#next)?.counts() ?? [];
  }

  /** Ends all watches with their connections; the view stays. Resolves once all is over. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const watch of [this.#current, this.#next]) if (watch !== null) this.#retire(watch, false);
    this.#current = this.#next = null;
    await this.#stepping;
    await Promise.all(this.#retiring);
  }

  #pursue(): void {
    this.#again = true;
    this.#stepping ??= this.#steps().finally(() => {
      this.#stepping = null;
    });
  }

  async #steps(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      try {
        await this.#step();
      } catch (error) {
        // The next look tries again.
        const { log } = this.#deps;
        log.debug({ cluster: this.cluster, error: describeError(error) }, 'a step was not taken');
      }
      this.#deps.onChange();
    }
  }

  /** One look at how things are, and what follows from it. */
  async #step(): Promise<void> {
    const { generation } = this.#target;
    const serving = await this.#deps.purger.serving(this.cluster);
    if (this.#closed) return;
    this.#follow(serving);
    const wanted = await this.#number.wanted(serving);
    // Of a content that came meanwhile another look is taken.
    if (this.#closed || generation !== this.#target.generation) return;
    if (this.#next !== null && this.#next.generation !== wanted) this.#dropNext();
    if (this.#fullUntil > 0 && performance.now() > this.#fullUntil) this.#tryFullAgain();
    if (this.#current?.generation !== wanted) await this.#bringUp(wanted, serving);
    await this.#tidy();
  }

  /** Whatever serves, by whomever it was promoted, is what this owner goes on with. */
  #follow(serving: number): void {
    this.#serving = serving;
    if (this.#current?.generation === serving) return;
    // Where Redis lost its data the same generation is begun anew.
    if (this.#current !== null) this.#retire(this.#current, this.#current.generation < serving);
    this.#current = null;
    if (this.#next?.generation !== serving) return;
    this.#current = this.#next;
    this.#next = null;
  }

  async #bringUp(wanted: number, serving: number): Promise<void> {
    if (wanted === serving) {
      this.#current = this.#start(wanted);
      return;
    }
    const next = (this.#next ??= this.#start(wanted));
    if (!next.synced) return;
    const promoted = await this.#deps.openView(this.cluster, wanted).promote();
    if (this.#closed) return;
    if (promoted) this.#follow(wanted);
    // A newer one serves, or Redis lost this one: the next look goes on from how it is then.
    else this.#forget(next);
  }

  #start(generation: number): GenerationWatch {
    const { openView, log } = this.#deps;
    log.info({ cluster: this.cluster, generation }, 'watching a linked cluster');
    const watch: GenerationWatch = new GenerationWatch({
      ...this.#deps,
      writer: openView(this.cluster, generation),
      connect: this.#target.connect,
      onSynced: () => this.#pursue(),
      onFault: (fault) => this.#onFault(fault, watch),
      onChange: this.#deps.onChange,
    });
    return watch;
  }

  #onFault(fault: GenerationFault, watch: GenerationWatch): void {
    const { log, onChange } = this.#deps;
    log.warn(
      { cluster: this.cluster, generation: watch.generation, reason: watch.health().reason },
      'a linked cluster is not watched any further',
    );
    if (fault === 'full') this.#fullUntil = performance.now() + FULL_RETRY_MS;
    // What became of it, the next look sees.
    if (fault === 'closed') this.#forget(watch);
    if (fault === 'history') {
      this.#number.renew().then(
        () => this.#pursue(),
        () => this.#forget(watch),
      );
    }
    onChange();
  }

  /** A watch that has ended is begun anew at the next look. */
  #forget(watch: GenerationWatch): void {
    this.#retire(watch, false);
    if (this.#current === watch) this.#current = null;
    if (this.#next === watch) this.#next = null;
  }

  #tryFullAgain(): void {
    this.#fullUntil = 0;
    for (const watch of [this.#current, this.#next]) {
      if (watch?.broken === true) this.#forget(watch);
    }
  }

  #dropNext(): void {
    if (this.#next !== null) this.#retire(this.#next, true);
    this.#next = null;
  }

  /** Not waited for: a slow end of one generation holds up no other. */
  #retire(watch: GenerationWatch, purge: boolean): void {
    const { purger, log } = this.#deps;
    const { generation } = watch;
    const end = async (): Promise<void> => {
      await watch.stop();
      if (purge) await purger.purge(this.cluster, generation);
    };
    const ended: Promise<void> = end()
      .catch((error: unknown) => {
        const fields = { cluster: this.cluster, generation, error: describeError(error) };
        log.debug(fields, 'a view was not purged; a later generation takes it along');
      })
      .finally(() => this.#retiring.delete(ended));
    this.#retiring.add(ended);
  }

  async #tidy(): Promise<void> {
    const serving = this.#serving;
    if (serving === null || serving === 0 || this.#tidied === serving) return;
    await this.#deps.purger.purgeOlder(this.cluster);
    this.#tidied = serving;
  }
}
