import { shortHash } from '../core/hash.ts';
import { AWAY, type ClusterStatus } from './clusters.ts';
import { onlyPort, type EndpointSet } from './endpoint-set.ts';
import type { Entry } from './entry.ts';
import { ageText, type AnswerStatus, type Known, type Refusal } from './known.ts';
import type { Member } from './local-name.ts';
import type { Target, World } from './target.ts';

/** One Service of one cluster. */
export class ClusterTarget implements Target {
  readonly #world: World;
  readonly member: Member;
  /** Name or number of a port; '' for all. */
  readonly #port: string;
  #last: { readonly of: ClusterStatus; readonly lost: string; status: AnswerStatus } | undefined;

  constructor(world: World, member: Member, port = '') {
    this.#world = world;
    this.member = member;
    this.#port = port;
  }

  load(): Promise<void> | undefined {
    const { cache, directory } = this.#world;
    // Nothing is read for a name that is no cluster's: anybody may ask for any.
    if (directory.get(this.member.cluster)?.accepted !== true) return undefined;
    const entry = this.#entry();
    // Redis may be one that hangs: nobody waits for it who can have the last known state.
    if (cache.isFresh(entry) || (directory.away && entry.known)) return undefined;
    return cache.refresh(entry);
  }

  now(): Known {
    const { directory } = this.#world;
    const { cluster } = this.member;
    const status = directory.get(cluster);
    if (status === undefined) {
      if (directory.known) return { kind: 'absent', refusal: noCluster(cluster), status: null };
      return { kind: 'unknown', refusal: NOTHING_KNOWN, status: null };
    }
    return status.accepted ? this.#known(status) : this.#unknown(status, '');
  }

  watch(listener: () => void): () => void {
    const { cache, directory } = this.#world;
    const entry = this.#entry();
    const ends = [entry.onChange(listener), directory.onChange(this.member.cluster, listener)];
    if (!cache.isFresh(entry)) void cache.refresh(entry);
    return () => ends.forEach((end) => end());
  }

  changedAt(): number | null {
    return this.#entry().toldOf;
  }

  #entry(): Entry {
    return this.#world.cache.entry(this.member.cluster, this.member.key);
  }

  #known(cluster: ClusterStatus): Known {
    const entry = this.#entry();
    const lost = whyLost(entry);
    if (!entry.known || (lost !== '' && entry.set === null)) {
      return this.#unknown(cluster, entry.failure);
    }
    const status = this.#status(cluster, lost);
    if (entry.set === null) return { kind: 'absent', refusal: this.#noService(), status };
    if (this.#port === '') return { kind: 'set', set: entry.set, status };
    const set = onlyPort(entry.set, this.#port);
    if (set === null) return { kind: 'absent', refusal: noPort(this.#port, entry.set), status };
    return { kind: 'set', set, status };
  }

  #unknown(cluster: ClusterStatus, failure: string): Known {
    const status = this.#status(cluster, '');
    if (failure !== '') {
      const error = `cluster ${this.member.cluster} cannot be read: Redis does not answer`;
      return { kind: 'unknown', refusal: { code: 'Unavailable', error }, status };
    }
    const { state, reason } = cluster;
    const why = reason === '' ? '' : `: ${reason}`;
    const error = `cluster ${this.member.cluster} was never in sync (${state}${why})`;
    return { kind: 'unknown', refusal: { code: 'NotSynced', error }, status };
  }

  #noService(): Refusal {
    const { cluster, key } = this.member;
    return { code: 'ServiceNotFound', error: `cluster ${cluster} has no Service ${key}` };
  }

  #status(of: ClusterStatus, lost: string): AnswerStatus {
    if (this.#last?.of !== of || this.#last.lost !== lost) {
      this.#last = { of, lost, status: answerStatus(this.member, of, lost) };
    }
    return this.#last.status;
  }
}

export const NOTHING_KNOWN: Refusal = {
  code: 'Unavailable',
  error: 'Redis does not answer, and nothing is known yet: try again',
};

/** Why what is known may be outdated although the cluster is in order; '' when it is not. */
function whyLost({ current, failure }: Entry): string {
  if (failure !== '') return AWAY;
  return current ? '' : 'the view is gone for the moment: this is the last known state';
}

export function noCluster(cluster: string): Refusal {
  const error = `no cluster ${cluster} is linked: GET /v1/clusters lists those that are`;
  return { code: 'ClusterNotFound', error };
}

export function noPort(asked: string, { facts }: EndpointSet): Refusal {
  const there = facts.ports.map(({ name, port }) =>
    name === '' ? `${port}` : `${name} (${port})`,
  );
  const error = `the Service has no port ${asked}; it has: ${there.join(', ') || 'none'}`;
  return { code: 'PortNotFound', error };
}

/** @param lost why the view could not be read since what is known was; '' when it could. */
function answerStatus(member: Member, from: ClusterStatus, lost: string): AnswerStatus {
  const state = lost !== '' && from.state === 'Ready' ? 'Stale' : from.state;
  const reason = from.reason === '' ? lost : from.reason;
  const stale = from.stale || lost !== '';
  const { syncedAt } = from.description;
  const slash = member.key.indexOf('/');
  const about = {
    cluster: member.cluster,
    namespace: member.key.slice(0, slash),
    service: member.key.slice(slash + 1),
    state,
    ...(reason === '' ? {} : { reason }),
    stale,
  };
  const text = JSON.stringify(about).slice(0, -1);
  const tag = lost === '' ? from.tag : shortHash(text, 8);
  const head = (now: number): string => text + ageText(syncedAt, now);
  return { state, reason, stale, complete: true, syncedAt, tag, head };
}
