import { describeError } from '../../core/errors.ts';
import { LOCAL_CLUSTER } from '../../core/names.ts';
import { byClaim, type ClusterDecision, type ClusterWatch } from '../../core/cluster.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { MEMBERSHIP, type ClusterMembers } from '../../platform/redis/clusters/members.ts';
import type { ClusterRegistry } from '../../platform/redis/clusters/registry.ts';
import { ownersOf } from './assignment.ts';
import { ClusterOwner, type ClusterOwnerDeps, type ClusterTarget } from './cluster-owner.ts';
import type { KindCounts } from './generation-watch.ts';
import { Teller } from './teller.ts';

export interface ClusterManagerDeps extends Omit<
  ClusterOwnerDeps,
  'cluster' | 'nextGeneration' | 'onChange'
> {
  /** Id of this process among the watchers. */
  readonly id: string;
  readonly registry: ClusterRegistry;
  readonly members: ClusterMembers;
  /** Processes that watch each cluster. */
  readonly owners: number;
  /** Makes a client of a Secret's accepted content. */
  readonly connect: (decision: ClusterDecision, signal: AbortSignal) => Promise<KubeClient>;
  /** The same for the served cluster. */
  readonly connectLocal: () => Promise<KubeClient>;
  /** Whether the served cluster is to be watched as a linked one; null: not known yet. */
  readonly localWanted: () => boolean | null;
}

/** Ms. Whoever missed a message of the registry sees at the next look what it said. */
const LOOK_EVERY_MS = 1_000;
/** A cluster that went to another process is watched for so long while that one is not in sync, ms. */
const HAND_OVER_MS = 15_000;
/** A watch that was told so lately is its teller's own, ms. */
const FRESH_MS = 2_500;

/**
 * Shares the linked clusters out among the living watcher processes, and keeps an owner object for
 * each that is this one's. Everything of a cluster is its owner's: none waits for another.
 */
export class ClusterManager {
  readonly #deps: ClusterManagerDeps;
  readonly #owners = new Map<string, ClusterOwner>();
  readonly #teller: Teller;
  /** Clusters that belong to another process now, and until when this one goes on at the latest. */
  readonly #leaving = new Map<string, number>();
  readonly #purging = new Map<string, Promise<void>>();
  readonly #timers: readonly NodeJS.Timeout[];
  #members: readonly string[] = [];
  #looking: Promise<void> | null = null;
  #again = false;
  #stopped = false;

  /** Starts at once, and waits for no cluster. */
  constructor(deps: ClusterManagerDeps) {
    this.#deps = deps;
    this.#teller = new Teller({ ...deps, others: FRESH_MS });
    this.#timers = [
      setInterval(() => void this.#beat(), MEMBERSHIP.everyMs),
      setInterval(() => this.look(), LOOK_EVERY_MS),
    ];
    void this.#beat();
  }

  /** Something changed in the registry, or in what is wanted. */
  look(): void {
    this.#again = true;
    this.#looking ??= this.#looks().finally(() => {
      this.#looking = null;
    });
  }

  /** Redis may have lost what it was told: compares the clusters with their views. */
  compareAll(reason: string): void {
    for (const owner of this.#owners.values()) owner.compare(reason);
  }

  /** Of the clusters that this process watches now. */
  counts(): readonly (readonly [cluster: string, counts: readonly KindCounts[]])[] {
    return [...this.#owners].map(([cluster, owner]) => [cluster, owner.counts()] as const);
  }

  /** Ends all watches; others take over at once. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#deps.members.leave(this.#deps.id).catch(() => undefined);
    const owners = [...this.#owners.values()].map((owner) => owner.close());
    this.#owners.clear();
    // A purge may fail now: what it leaves, another watcher's look finds.
    await Promise.allSettled([...owners, this.#looking, ...this.#purging.values()]);
    await this.#teller.idle();
  }

  async #beat(): Promise<void> {
    if (this.#stopped) return;
    try {
      const members = await this.#deps.members.beat(this.#deps.id);
      const changed = members.join() !== this.#members.join();
      this.#members = members;
      if (changed) this.look();
    } catch {
      // While Redis is away everybody goes on with what it has.
    }
  }

  async #looks(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        await this.#lookOnce();
      } catch (error) {
        this.#deps.log.debug({ error: describeError(error) }, 'linked clusters were not looked at');
      }
    }
  }

  async #lookOnce(): Promise<void> {
    if (this.#members.length === 0) return;
    const { registry } = this.#deps;
    // Before the decisions: what is not among them and has no higher number is gone.
    const upTo = await registry.lastGeneration();
    const [decisions, watches] = await Promise.all([registry.decisions(), registry.watches()]);
    if (this.#stopped) return;
    const targets = this.#targets(decisions);
    for (const target of targets.values()) this.#settle(target, watches);
    for (const cluster of new Set([...this.#owners.keys(), ...watches.keys()])) {
      if (targets.has(cluster)) continue;
      if (isHandedOver(cluster, decisions)) void this.#end(cluster);
      else this.#gone(cluster, upTo);
    }
    this.#teller.tellAll([...this.#owners.values()], watches);
  }

  #targets(decisions: readonly ClusterDecision[]): Map<string, ClusterTarget> {
    const { connect, connectLocal, localWanted } = this.#deps;
    const accepted = new Map<string, ClusterDecision>();
    for (const one of decisions) {
      const other = accepted.get(one.cluster);
      if (one.accepted !== null && (other === undefined || byClaim(one, other) < 0)) {
        accepted.set(one.cluster, one);
      }
    }
    const targets = [...accepted].map(([cluster, decision]): [string, ClusterTarget] => {
      const generation = decision.accepted?.generation ?? 0;
      return [cluster, { cluster, generation, connect: (signal) => connect(decision, signal) }];
    });
    const local = { cluster: LOCAL_CLUSTER, generation: 0, connect: connectLocal };
    const known = localWanted();
    // What is not known yet is left as it is.
    if (known === true || (known === null && this.#owners.has(LOCAL_CLUSTER))) {
      targets.push([LOCAL_CLUSTER, local]);
    }
    return new Map(targets);
  }

  /** Sees to it that this process watches the cluster if it is to, and not for longer. */
  #settle(target: ClusterTarget, watches: ReadonlyMap<string, ClusterWatch>): void {
    const { cluster } = target;
    const owner = this.#owners.get(cluster);
    if (this.#isMine(cluster)) {
      this.#leaving.delete(cluster);
      (owner ?? this.#own(target)).aim(target);
    } else if (owner !== undefined) {
      const until = this.#leaving.get(cluster) ?? performance.now() + HAND_OVER_MS;
      this.#leaving.set(cluster, until);
      const taken = isTaken(watches.get(cluster), this.#deps.id);
      if (!taken && performance.now() < until) return owner.aim(target);
      this.#deps.log.info({ cluster }, 'another watcher has taken this cluster over');
      void this.#end(cluster);
    }
  }

  #own(target: ClusterTarget): ClusterOwner {
    const { registry } = this.#deps;
    const owner: ClusterOwner = new ClusterOwner(
      {
        ...this.#deps,
        cluster: target.cluster,
        nextGeneration: () => registry.nextGeneration(),
        onChange: () => this.#teller.tellSoon(owner),
      },
      target,
    );
    this.#owners.set(target.cluster, owner);
    return owner;
  }

  /** This process watches the cluster no longer; its view stays. */
  #end(cluster: string): Promise<void> {
    const ended = this.#owners.get(cluster)?.close() ?? Promise.resolve();
    this.#owners.delete(cluster);
    this.#leaving.delete(cluster);
    this.#inBackground(cluster, ended);
    return ended;
  }

  /** The cluster's Secret is gone: the watches end now, and its view goes, whoever had filled it. */
  #gone(cluster: string, upTo: number): void {
    if (cluster === LOCAL_CLUSTER && this.#deps.localWanted() === null) return;
    const watched = this.#owners.has(cluster);
    const ended = this.#end(cluster);
    if (this.#purging.has(cluster)) return;
    // Elsewhere the served cluster may be wanted still: its owner knows.
    if (!this.#isMine(cluster) && (!watched || cluster === LOCAL_CLUSTER)) return;
    const purged = this.#purge(cluster, upTo, ended).finally(() => this.#purging.delete(cluster));
    this.#purging.set(cluster, purged);
    this.#inBackground(cluster, purged);
  }

  async #purge(cluster: string, upTo: number, ended: Promise<void>): Promise<void> {
    const { purger, registry, log } = this.#deps;
    await Promise.all([ended, this.#teller.idle()]);
    await purger.purgeCluster(cluster, upTo);
    // Linked anew meanwhile, it has a watch again.
    if (!this.#owners.has(cluster)) await registry.forgetWatch(cluster);
    log.info({ cluster }, 'a cluster is linked no longer: nothing of it is watched or kept');
  }

  #isMine(cluster: string): boolean {
    const { id, owners } = this.#deps;
    return ownersOf(cluster, this.#members, owners).includes(id);
  }

  #inBackground(cluster: string, work: Promise<void>): void {
    work.catch((error: unknown) => {
      // The next look sees what is left, and tries again.
      this.#deps.log.debug({ cluster, error: describeError(error) }, 'the end of a cluster failed');
    });
  }
}

/**
 * The Secret that had the name is gone, and another one that waited for it is about to be looked at:
 * what is known is answered until that is settled.
 */
function isHandedOver(cluster: string, decisions: readonly ClusterDecision[]): boolean {
  return decisions.some((one) => one.cluster === cluster && one.verdict === 'Conflict');
}

/** Whether another watcher than this one is in sync with the cluster. What nobody has told of is not taken. */
function isTaken(watch: ClusterWatch | undefined, id: string): boolean {
  return watch !== undefined && watch.syncedAt === watch.at && watch.owner !== id;
}
