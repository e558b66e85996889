import { UnreachableError } from '../../core/errors.ts';
import { sleep } from '../../platform/process/sleep.ts';
import type { RedisClient } from '../../platform/redis/client.ts';
import { takeOutNamespace, type TakenOut } from '../../platform/redis/queue/namespace-jobs.ts';

/** How long a run may take to end, ms; few take longer than one. */
const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 100;

/**
 * Takes the jobs of a namespace's Services out of their queue, again and again until none runs any more:
 * workers serve every key in line, whatever watchers serve, and one that runs may be put back into it.
 * Jobs of cluster Secrets write no slice, and stay.
 *
 * @returns all that were taken out; `running` is not 0 when the patience was over first.
 * @throws UnreachableError when Redis fails; the signal's reason.
 */
export async function removeJobs(
  redis: RedisClient,
  prefix: string,
  namespace: string,
  signal: AbortSignal,
): Promise<TakenOut> {
  const until = performance.now() + PATIENCE_MS;
  for (let taken = 0; ; await sleep(LOOK_EVERY_MS, signal)) {
    signal.throwIfAborted();
    const pass = await takeOut(redis, prefix, namespace);
    taken += pass.taken;
    if (pass.running === 0 || performance.now() >= until) return { ...pass, taken };
  }
}

async function takeOut(redis: RedisClient, prefix: string, namespace: string): Promise<TakenOut> {
  try {
    return await takeOutNamespace(redis, { prefix, name: 'service' }, namespace);
  } catch (error) {
    throw new UnreachableError(`take the jobs of namespace ${namespace} out of the queue`, error);
  }
}
