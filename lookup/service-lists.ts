import type {
  ClusterViewReader,
  ServiceNames,
} from '../platform/redis/clusters/cluster-view-reader.ts';
import { clusterStatusOf, refused, servicesAnswer, tooOld, type Answer } from './answers.ts';
import type { ClusterStatus } from './clusters.ts';

/** Lists of all Services of a cluster, which are asked for seldom: read each time, by one at a time. */
export class ServiceLists {
  readonly #reader: Pick<ClusterViewReader, 'listServices'>;
  readonly #reading = new Map<string, Promise<ServiceNames>>();
  /** How often each cluster was forgotten: a list that began before that is of another one. */
  readonly #forgotten = new Map<string, number>();
  /** The last list of each cluster, for the time when Redis is away. */
  readonly #last = new Map<string, readonly string[]>();

  constructor(reader: Pick<ClusterViewReader, 'listServices'>) {
    this.#reader = reader;
  }

  /** @param now by Redis' clock, ms; asked when the list has come. */
  async answer(from: ClusterStatus, now: () => number, maxAgeMs: number | null): Promise<Answer> {
    const { cluster } = from.description;
    const forgotten = this.#forgotten.get(cluster);
    const found = from.accepted ? await this.#read(cluster).catch(() => null) : null;
    const read = this.#forgotten.get(cluster) === forgotten ? found : null;
    if (read !== null) this.#last.set(cluster, read);
    const names = read ?? this.#last.get(cluster) ?? null;
    const status = clusterStatusOf(from, from.stale || read === null);
    if (names === null) {
      const error = `cluster ${cluster} was never in sync (${from.state})`;
      return refused({ code: 'NotSynced', error }, status, now());
    }
    const refusal = maxAgeMs === null ? null : tooOld(status, now(), maxAgeMs);
    if (refusal !== null) return refused(refusal, status, now());
    return servicesAnswer(names, status, now());
  }

  forget(cluster: string): void {
    this.#last.delete(cluster);
    this.#reading.delete(cluster);
    this.#forgotten.set(cluster, (this.#forgotten.get(cluster) ?? 0) + 1);
  }

  #read(cluster: string): Promise<ServiceNames> {
    const known = this.#reading.get(cluster);
    if (known !== undefined) return known;
    const reading = this.#reader.listServices(cluster).finally(() => {
      if (this.#reading.get(cluster) === reading) this.#reading.delete(cluster);
    });
    this.#reading.set(cluster, reading);
    return reading;
  }
}
