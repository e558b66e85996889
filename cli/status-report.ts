import type { RedisClient } from '../platform/redis/client.ts';
import type { ClusterDescription } from '../core/cluster.ts';
import { describeSecrets } from '../core/cluster-snapshot.ts';
import { describeError } from '../core/errors.ts';
import { QUEUE_NAMES, type QueueName } from '../core/job.ts';
import { formatKey, parseKey } from '../core/object-key.ts';
import type { Logger } from '../core/logger.ts';
import type { Config } from '../platform/config.ts';
import { createClusterRegistry } from '../platform/redis/clusters/registry.ts';
import type { FailedJob, QueueCounts } from '../platform/redis/queue/inspect.ts';
import { openQueue } from '../platform/redis/queue/work-queue.ts';
import { createStuckKeys } from '../platform/redis/stuck.ts';
import { failuresKey } from '../platform/redis/view/keys.ts';
import { waitingBeats, type WaitingWorker } from '../platform/redis/waiting-workers.ts';
import {
  liveWatchers,
  workerBeats,
  type WatcherBeat,
  type WorkerBeat,
} from '../platform/redis/watchers.ts';
import { findLeftBehind, servedByAny, type LeftBehind } from '../watcher/left-behind.ts';
import { findOtherManagers } from '../watcher/other-managers.ts';
import { withKube } from './roles/clients.ts';

/** What `status` shows; `-o json` prints it as it is. */
export interface StatusReport {
  readonly queues: Readonly<Record<QueueName, QueueCounts>>;
  /** Keys that failed again and again, with the number of failures in a row. */
  readonly stuck: readonly { readonly key: string; readonly failures: number }[];
  readonly watchers: readonly WatcherBeat[];
  readonly workers: readonly WorkerBeat[];
  /** Workers that take no keys, as the API server does not answer them. */
  readonly waitingWorkers: readonly WaitingWorker[];
  /** One entry a cluster Secret; of several for one cluster its owner's comes first. */
  readonly clusters: readonly ClusterDescription[];
  /** By Redis' clock, ms: what the times of `clusters` are to be compared with. */
  readonly now: number;
  /** Jobs that were refused for good, the latest first. */
  readonly refused: readonly (FailedJob & { readonly queue: QueueName })[];
  /** Services for which somebody else writes EndpointSlices too. */
  readonly otherManagers:
    | readonly { readonly service: string; readonly manager: string; readonly slices: number }[]
    | null;
  /** Slices of ours in namespaces that no watcher serves; null where no watcher lives, or as above. */
  readonly leftBehind: readonly LeftBehind[] | null;
  /** Why `otherManagers` is not known: the rest of the report needs no API server. */
  readonly otherManagersError: string | null;
}

const REFUSED_SHOWN = 10;

/**
 * Collects the status from Redis, and with `readOthers` (such as `readCluster`) what the API server alone
 * knows.
 */
export async function collectStatus(
  config: Config,
  redis: RedisClient,
  log: Logger,
  readOthers: (filters: Filters) => Promise<ClusterPart>,
): Promise<StatusReport> {
  const prefix = config.redisPrefix;
  const queues = QUEUE_NAMES.map((name) => ({
    name,
    queue: openQueue({ name, prefix, log, redis }),
  }));
  try {
    const watching = liveWatchers(redis, prefix);
    const [counts, refused, stuck, watchers, workers, linked, others] = await Promise.all([
      Promise.all(queues.map(async ({ name, queue }) => [name, await queue.counts()] as const)),
      Promise.all(
        queues.map(async ({ name, queue }) =>
          (await queue.failedJobs(REFUSED_SHOWN)).map((job) => ({ ...job, queue: name })),
        ),
      ),
      readStuck(redis, prefix),
      watching,
      readWorkers(redis, prefix),
      createClusterRegistry(redis, prefix).snapshot(),
      watching.then((all) => readOthers(all.map(({ filter }) => filter))),
    ]);
    return {
      queues: Object.fromEntries(counts) as Record<QueueName, QueueCounts>,
      refused: refused.flat(),
      stuck,
      watchers: watchers.toSorted(byId),
      ...workers,
      clusters: describeSecrets(linked),
      now: linked.now,
      ...others,
    };
  } finally {
    await Promise.all(queues.map(({ queue }) => queue.close()));
  }
}

async function readWorkers(
  redis: RedisClient,
  prefix: string,
): Promise<Pick<StatusReport, 'workers' | 'waitingWorkers'>> {
  const [all, waiting] = await Promise.all([
    workerBeats(redis, prefix).live(),
    waitingBeats(redis, prefix).live(),
  ]);
  return { workers: all.toSorted(byId), waitingWorkers: waiting.toSorted(byId) };
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}

async function readStuck(redis: RedisClient, prefix: string): Promise<StatusReport['stuck']> {
  const keys = (await createStuckKeys(redis, prefix).list()).toSorted();
  return Promise.all(
    keys.map(async (text) => {
      const { namespace, name } = parseKey(text);
      const count = await redis.hget(failuresKey(prefix, namespace), name);
      return { key: text, failures: Number(count ?? 0) };
    }),
  );
}

/** Which namespaces each watcher serves. */
export type Filters = readonly WatcherBeat['filter'][];

export type ClusterPart = Pick<StatusReport, 'otherManagers' | 'leftBehind' | 'otherManagersError'>;

/** What the API server alone knows; left out, with the reason, when it cannot be asked. */
export async function readCluster(
  config: Config,
  filters: Filters,
  signal: AbortSignal,
): Promise<ClusterPart> {
  const { manager: ours } = config;
  try {
    const [found, leftBehind] = await withKube(config, (client) =>
      Promise.all([
        findOtherManagers(client, ours, signal),
        filters.length === 0 ? null : findLeftBehind(client, ours, servedByAny(filters), signal),
      ]),
    );
    const otherManagers = found
      .map(({ key, manager, slices }) => ({ service: formatKey(key), manager, slices }))
      .toSorted((a, b) => (`${a.service} ${a.manager}` < `${b.service} ${b.manager}` ? -1 : 1));
    return { otherManagers, leftBehind, otherManagersError: null };
  } catch (error) {
    signal.throwIfAborted();
    return { otherManagers: null, leftBehind: null, otherManagersError: describeError(error) };
  }
}
