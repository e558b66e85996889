import type { RedisClient } from '../redis/client.ts';
import {
  describeCluster,
  type ClusterDecision,
  type ClusterDescription,
  type ClusterWatch,
} from '../../core/cluster.ts';
import type { Logger } from '../../core/logger.ts';
import { parseKey } from '../../core/object-key.ts';
import type { EventInput, EventSink } from '../kube/events.ts';
import { toldKey } from '../redis/clusters/keys.ts';
import type { ClusterRegistry } from '../redis/clusters/registry.ts';

/** Tells people of each change of a cluster's state, once for all processes of an install. */
export interface ClusterTransitions {
  /** Looks at one Secret's cluster. Rejects with ioredis' error while Redis is away. */
  tell(decision: ClusterDecision): Promise<void>;
  tellAll(): Promise<void>;
  /** The Secret is gone, or no cluster Secret any more. */
  tellGone(decision: ClusterDecision, reason: string): Promise<void>;
}

export interface TransitionDeps {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly registry: Pick<ClusterRegistry, 'snapshot' | 'watches' | 'now'>;
  readonly log: Logger;
  readonly events: Pick<EventSink, 'emit'>;
}

/** States that a person may have to do something about. */
const BAD: ReadonlySet<string> = new Set(['Invalid', 'Unreachable', 'Stale', 'Conflict']);

/** Who looks often asks Redis only about what has changed since its own last look. */
export function createClusterTransitions(deps: TransitionDeps): ClusterTransitions {
  const { redis, prefix, registry, log } = deps;
  const key = toldKey(prefix);
  const seen = new Map<string, string>();
  let orphans: ReadonlySet<string> = new Set();
  const look = async (
    decision: ClusterDecision,
    watch: ClusterWatch | null,
    now: number,
  ): Promise<void> => {
    const description = describeCluster(decision, watch, now);
    const mark = markOf(decision, description);
    if (seen.get(decision.secret) === mark) return;
    // One writes and reads in one step, so that of several processes one alone finds the change.
    const [before] =
      (await redis.multi().hget(key, decision.secret).hset(key, decision.secret, mark).exec()) ??
      [];
    seen.set(decision.secret, mark);
    if (before?.[1] !== mark) announce(deps, decision, description);
  };
  return {
    tell: async (decision) => {
      const [watches, now] = await Promise.all([registry.watches(), registry.now()]);
      await look(decision, watches.get(decision.cluster) ?? null, now);
    },
    tellAll: async () => {
      const { decisions, watches, now } = await registry.snapshot();
      const known = new Set(decisions.map(({ secret }) => secret));
      for (const secret of seen.keys()) if (!known.has(secret)) seen.delete(secret);
      for (const one of decisions) await look(one, watches.get(one.cluster) ?? null, now);
      orphans = await dropOrphans(redis, key, known, orphans);
    },
    tellGone: async ({ secret, cluster }, reason) => {
      seen.delete(secret);
      if ((await redis.hdel(key, secret)) > 0)
        log.info({ secret, cluster }, `cluster gone: ${reason}`);
    },
  };
}

/**
 * A Secret that was forgotten while somebody told of it left its field behind. One that a single look
 * finds without a decision may be of a Secret that was decided about since.
 *
 * @param known Secrets that there is a decision about.
 * @param before what the last look gave.
 * @returns fields without a decision, that the next look drops if they are still.
 */
async function dropOrphans(
  redis: RedisClient,
  key: string,
  known: ReadonlySet<string>,
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const orphans = (await redis.hkeys(key)).filter((secret) => !known.has(secret));
  const dropped = orphans.filter((secret) => before.has(secret));
  if (dropped.length > 0) await redis.hdel(key, ...dropped);
  return new Set(orphans);
}

/**
 * What makes a new line. The reason counts where it comes with the decision: others may tell how long
 * something has lasted.
 */
function markOf(
  { verdict, reason, cluster, secretUid }: ClusterDecision,
  { state }: ClusterDescription,
): string {
  return JSON.stringify([secretUid, cluster, state, verdict, reason]);
}

function announce(
  { log, events }: TransitionDeps,
  decision: ClusterDecision,
  description: ClusterDescription,
): void {
  const { secret, cluster, state, reason, server, attempts, nextTryAt } = description;
  const bad = BAD.has(state) || reason !== '';
  const fields = { secret, cluster, state, server, attempts, nextTryAt };
  const told =
    reason === '' ? `cluster ${cluster} is ${state}` : `cluster ${cluster} is ${state}: ${reason}`;
  log[bad ? 'warn' : 'info'](fields, told);
  events.emit(aboutSecret(decision, bad ? 'Warning' : 'Normal', `Cluster${state}`, told));
}

/** An Event on the Secret of a cluster. */
export function aboutSecret(
  { secret, secretUid }: ClusterDecision,
  type: EventInput['type'],
  reason: string,
  message: string,
): EventInput {
  const regarding = { apiVersion: 'v1', kind: 'Secret', ...parseKey(secret), uid: secretUid };
  return { regarding, type, reason, message };
}
