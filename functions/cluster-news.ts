import { TetherError } from '../core/errors.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import type { ApiSecret } from '../core/api-objects.ts';
import { contentHash, isClusterSecret } from '../platform/kube/cluster-secret.ts';
import { sleep } from '../platform/process/sleep.ts';
import type { ClusterRegistry } from '../platform/redis/clusters/registry.ts';

/** The Secret changed while its cluster was being asked; another run goes on with the new content. */
export class SupersededError extends TetherError {
  readonly code = 'Superseded';
  constructor() {
    super('the Secret changed while its cluster was being asked');
    this.name = 'SupersededError';
  }
}

export interface NewsDeps {
  /** Whether the key is wanted again; says nothing of what changed. */
  readonly isAwaited: (key: ObjectKey) => Promise<boolean>;
  readonly readSecret: (key: ObjectKey, signal: AbortSignal) => Promise<ApiSecret | null>;
}

export interface DecidedDeps extends Pick<NewsDeps, 'readSecret'> {
  readonly registry: Pick<ClusterRegistry, 'decision'>;
}

const LOOK_EVERY_MS = 200;
/** News that changed nothing: so long passes until the Secret is read again because of them. */
const UNCHANGED_PAUSE_MS = 1_000;

/** Resolves once the Secret's content is not `hash` any more, or with false when the signal ends it. */
export async function untilNews(
  key: ObjectKey,
  hash: string,
  deps: NewsDeps,
  signal: AbortSignal,
): Promise<boolean> {
  let pauseMs = LOOK_EVERY_MS;
  for (;;) {
    await sleep(pauseMs, signal);
    if (signal.aborted) return false;
    try {
      pauseMs = LOOK_EVERY_MS;
      if (!(await deps.isAwaited(key))) continue;
      const secret = await deps.readSecret(key, signal);
      if (isOther(secret, hash)) return true;
      pauseMs = UNCHANGED_PAUSE_MS;
    } catch {
      // Redis or the API server is away for now: then the probe runs to its own end.
    }
  }
}

/**
 * Whether the Secret holds something else by now than what was decided about last. False where nothing was
 * decided, and where Redis or the API server cannot say.
 */
export async function hasNews(
  key: ObjectKey,
  { registry, readSecret }: DecidedDeps,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const decision = await registry.decision(formatKey(key));
    return decision !== null && isOther(await readSecret(key, signal), decision.hash);
  } catch {
    return false;
  }
}

function isOther(secret: ApiSecret | null, hash: string): boolean {
  return secret === null || !isClusterSecret(secret) || contentHash(secret) !== hash;
}
