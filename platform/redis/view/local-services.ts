import type { RedisClient } from '../client.ts';
import { decodeService } from '../../../core/codec.ts';
import type { ObjectKey } from '../../../core/object-key.ts';
import type { ServiceRecord } from '../../../core/records.ts';
import { currentIdentity } from './identity.ts';
import { namespacesKey, viewBase, type ViewKeys } from './keys.ts';

/** Services of the served cluster, for who knows its Redis alone. */
export interface LocalServices {
  /**
   * Reads these Services, in the same order. Rejects while Redis is away.
   */
  read(keys: readonly ObjectKey[]): Promise<readonly LocalReading[]>;
}

export interface LocalReading {
  /** Whether watchers keep this namespace's Services up to date; if not, `service` may be outdated. */
  readonly inSync: boolean;
  readonly service: ServiceRecord | null;
}

/** What the view of this install holds (core/view-scope.ts), under the name of before there were scopes. */
function scopeKey(prefix: string): string {
  return `{${prefix}}:cluster-uid`;
}

/** Told by watchers, so that look-ups need no API server. */
export async function noteScope(redis: RedisClient, prefix: string, scope: string): Promise<void> {
  await redis.set(scopeKey(prefix), scope);
}

export function createLocalServices(redis: RedisClient, prefix: string): LocalServices {
  return {
    read: async (keys) => {
      const scope = await redis.get(scopeKey(prefix));
      if (scope === null) return keys.map(() => UNKNOWN);
      const identity = await currentIdentity(redis, prefix, scope);
      return Promise.all(keys.map((key) => readOne(redis, { prefix, identity }, key)));
    },
  };
}

const UNKNOWN: LocalReading = { inSync: false, service: null };

async function readOne(
  redis: RedisClient,
  view: ViewKeys,
  { namespace, name }: ObjectKey,
): Promise<LocalReading> {
  const [marked, text] = await Promise.all([
    isMarked(redis, view, namespace),
    redis.hget(`${viewBase(view, namespace)}service`, name),
  ]);
  const service = text === null ? null : decodeService(text);
  return { inSync: marked || (await isKnownEmpty(redis, view, namespace)), service };
}

async function isMarked(redis: RedisClient, view: ViewKeys, namespace: string): Promise<boolean> {
  return (await redis.exists(`${viewBase(view, namespace)}m:service`)) === 1;
}

/** A namespace without objects has no mark of its own; others tell whether the view is in sync. */
async function isKnownEmpty(
  redis: RedisClient,
  view: ViewKeys,
  namespace: string,
): Promise<boolean> {
  const all = namespacesKey(view);
  if ((await redis.sismember(all, namespace)) === 1) return false;
  const some = await redis.srandmember(all, SAMPLE);
  const marks = await Promise.all(some.map((other) => isMarked(redis, view, other)));
  return marks.includes(true);
}

const SAMPLE = 5;
