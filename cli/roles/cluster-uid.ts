import { setTimeout as delay } from 'node:timers/promises';
import type { ApiObject } from '../../core/api-objects.ts';
import { backoffMs } from '../../core/backoff.ts';
import { ApiError, describeError, UnreachableError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { KubeClient } from '../../platform/kube/client.ts';

const RETRY = { baseMs: 200, capMs: 5_000 } as const;

/**
 * The UID of kube-system: which cluster this is. An API server that is not there yet is waited for,
 * and said so once.
 *
 * @throws ApiError for what does not pass by itself, such as a missing right.
 */
export async function readClusterUid(
  client: KubeClient,
  log: Logger,
  signal: AbortSignal,
): Promise<string> {
  const what = 'get namespace kube-system';
  const path = '/api/v1/namespaces/kube-system';
  for (let failures = 1; ; failures++) {
    try {
      const found = await client.get<ApiObject>(path, { what, signal });
      return found.metadata?.uid ?? 'unknown';
    } catch (error) {
      if (!passes(error)) throw error;
      const reason = describeError(error);
      if (failures === 1) log.warn({ server: client.server, reason }, 'waiting for the API server');
      await delay(backoffMs(failures, RETRY, Math.random), undefined, { signal });
    }
  }
}

/** kube-system comes a moment after a new API server does. */
function passes(error: unknown): boolean {
  if (error instanceof UnreachableError) return true;
  return error instanceof ApiError && (error.status === 404 || error.status >= 429);
}
