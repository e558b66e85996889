import type { RedisClient } from '../client.ts';
import { currentIdentity } from './identity.ts';

/** The identity of the view that watchers fill now, as a worker knows it. */
export interface IdentitySource {
  current(): string;
  /** The view could not be read: perhaps its identity has changed. Asks Redis, not too often. */
  refresh(): void;
}

/** At most one look per so many ms. */
const REFRESH_MS = 500;

export async function createIdentitySource(
  redis: RedisClient,
  prefix: string,
  scope: string,
  monotonicMs: () => number,
): Promise<IdentitySource> {
  const look = (): Promise<string> => currentIdentity(redis, prefix, scope);
  let identity = await look();
  let lookedAt = monotonicMs();
  return {
    current: () => identity,
    refresh: () => {
      if (monotonicMs() - lookedAt < REFRESH_MS) return;
      lookedAt = monotonicMs();
      look().then(
        (found) => (identity = found),
        // Redis is away; whoever reads next asks again.
        () => undefined,
      );
    },
  };
}
