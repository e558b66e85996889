import type { RedisClient } from '../client.ts';
import { memoize } from '../../../core/memo.ts';
import { WORKLOAD_KIND } from '../../../core/names.ts';
import { decodeRemote } from '../../../core/remote-codec.ts';
import type { RemoteService, RemoteSlice, RemoteWorkload } from '../../../core/remote-records.ts';
import { loadClusterScript, runScript } from '../scripts.ts';
import { clusterViewBase, clusterViewsBase, servingKey } from './keys.ts';

/** What the view of a linked cluster knows of one Service. */
export interface ServiceReading {
  /** The generation that was read; 0: none has synced, so that nothing is known. */
  readonly generation: number;
  readonly service: RemoteService | null;
  readonly slices: readonly RemoteSlice[];
  /** Those ExternalWorkloads that the slices refer to and the view has, by key. */
  readonly workloads: ReadonlyMap<string, RemoteWorkload>;
  /** Keys of all that they refer to, there or not. */
  readonly refersTo: readonly string[];
}

/** The names of all Services that a linked cluster has; null: none of its views has synced. */
export type ServiceNames = readonly string[] | null;

/** The views of all linked clusters, as look-ups read them. Methods reject while Redis is away. */
export interface ClusterViewReader {
  /** One round trip, and one more where a slice refers to ExternalWorkloads. `key`: `namespace/name`. */
  readService(cluster: string, key: string): Promise<ServiceReading>;
  /** Sorted `namespace/name`. */
  listServices(cluster: string): Promise<ServiceNames>;
}

const readScript = loadClusterScript('read-service');

/** A generation that was purged while it was read is read anew, so often. */
const TRIES = 4;

/** Most of what is read was read before; a record is remembered by its key and text. */
const sliceOf = memoize((text) => decodeAt('slice', text), 2_000);
const workloadOf = memoize((text) => decodeAt('workload', text), 10_000);

function decodeAt<K extends 'slice' | 'workload'>(kind: K, text: string) {
  const end = text.indexOf('\n');
  return decodeRemote(kind, text.slice(0, end), text.slice(end + 1));
}

export function createClusterViewReader(redis: RedisClient, prefix: string): ClusterViewReader {
  return {
    readService: async (cluster, key) => {
      const serving = servingKey(prefix, cluster);
      const before = clusterViewsBase(prefix, cluster);
      for (let attempt = 0; attempt < TRIES; attempt++) {
        const reply = (await runScript(redis, readScript, [serving], [before, key])) as string[];
        const generation = Number(reply[0]);
        if (generation === 0) break;
        const slices = slicesOf(reply);
        const refersTo = workloadsOf(slices);
        const base = clusterViewBase(prefix, cluster, generation);
        const workloads = await readWorkloads(redis, { serving, base, generation }, refersTo);
        if (workloads === null) continue;
        return { generation, service: serviceOf(key, reply[1]), slices, workloads, refersTo };
      }
      return NOTHING;
    },
    listServices: async (cluster) => {
      const serving = servingKey(prefix, cluster);
      for (let attempt = 0; attempt < TRIES; attempt++) {
        const generation = Number((await redis.get(serving)) ?? 0);
        if (generation === 0) break;
        const base = clusterViewBase(prefix, cluster, generation);
        const [keys, still] = await Promise.all([
          redis.hkeys(`${base}service`),
          redis.get(serving),
        ]);
        if (Number(still ?? 0) === generation) return keys.sort();
      }
      return null;
    },
  };
}

const NOTHING: ServiceReading = {
  generation: 0,
  service: null,
  slices: [],
  workloads: new Map(),
  refersTo: [],
};

function serviceOf(key: string, text = ''): RemoteService | null {
  return text === '' ? null : decodeRemote('service', key, text);
}

function slicesOf(reply: readonly string[]): RemoteSlice[] {
  const slices: RemoteSlice[] = [];
  for (let at = 2; at < reply.length; at += 2)
    slices.push(sliceOf(`${reply[at]}\n${reply[at + 1]}`));
  return slices;
}

function workloadsOf(slices: readonly RemoteSlice[]): string[] {
  const keys = new Set<string>();
  for (const { endpoints } of slices) {
    for (const { targetRef } of endpoints) {
      if (targetRef?.kind === WORKLOAD_KIND) keys.add(`${targetRef.namespace}/${targetRef.name}`);
    }
  }
  return [...keys];
}

/** Null when the generation serves no more, so that its records may have gone meanwhile. */
async function readWorkloads(
  redis: RedisClient,
  { serving, base, generation }: { serving: string; base: string; generation: number },
  keys: readonly string[],
): Promise<ReadonlyMap<string, RemoteWorkload> | null> {
  if (keys.length === 0) return new Map();
  // Commands of one connection are answered in order: what serves after the read served during it.
  const [texts, still] = await Promise.all([
    redis.hmget(`${base}workload`, ...keys),
    redis.get(serving),
  ]);
  if (Number(still ?? 0) !== generation) return null;
  const found = keys.flatMap((key, at) => {
    const text = texts[at] ?? null;
    return text === null ? [] : [[key, workloadOf(`${key}\n${text}`)] as const];
  });
  return new Map(found);
}
