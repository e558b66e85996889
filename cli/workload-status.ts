import { ApiError } from '../core/errors.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { CommandError, isKindMissing, isObjectMissing, kindMissing } from './failures.ts';

/** A condition of an ExternalWorkload. */
export interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** What the Ready condition is to say. */
export interface ReadyState {
  readonly status: 'True' | 'False';
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message: string;
}

interface Workload {
  readonly metadata: { readonly uid?: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const READY = 'Ready';
const MAX_TRIES = 5;

/**
 * The conditions with Ready as wanted, or null when they say so already. A type that is listed twice
 * (the last entry counts) is listed once afterwards; the time changes only when the status flips.
 */
export function withReady(
  conditions: readonly Condition[],
  wanted: ReadyState,
  at: string,
): readonly Condition[] | null {
  const all = conditions.filter(({ type }) => type === READY);
  const last = all.at(-1);
  const same =
    all.length === 1 &&
    last?.status === wanted.status &&
    last.reason === wanted.reason &&
    last.message === wanted.message;
  if (same) return null;
  const since = last?.status === wanted.status ? last.lastTransitionTime : undefined;
  const ready = { ...last, ...wanted, type: READY, lastTransitionTime: since ?? at };
  return [...conditions.filter(({ type }) => type !== READY), ready];
}

/**
 * Sets the Ready condition of an ExternalWorkload, through the status subresource of v1beta1 (v1alpha1
 * has none). Others may write the status at the same time: a conflict reads and writes again.
 *
 * @returns whether anything had to be written, and the workload's UID.
 * @throws CommandError when there is no such workload, or no such kind.
 */
export async function setReady(
  client: KubeClient,
  key: ObjectKey,
  wanted: ReadyState,
  signal: AbortSignal,
): Promise<{ readonly changed: boolean; readonly uid: string }> {
  const path = `/apis/workload.linkerd.io/v1beta1/namespaces/${key.namespace}/externalworkloads/${key.name}`;
  const shown = formatKey(key);
  for (let tries = 1; ; tries++) {
    try {
      const workload = await client.get<Workload>(path, {
        what: `get externalworkload ${shown}`,
        signal,
      });
      const uid = workload.metadata.uid ?? '';
      const at = `${new Date().toISOString().slice(0, 19)}Z`;
      const conditions = withReady(workload.status?.conditions ?? [], wanted, at);
      if (conditions === null) return { changed: false, uid };
      const body = { ...workload, status: { ...workload.status, conditions } };
      const what = `update externalworkloads/status ${shown}`;
      await client.replace(`${path}/status`, body, { what, signal });
      return { changed: true, uid };
    } catch (error) {
      if (error instanceof ApiError && error.status === 409 && tries < MAX_TRIES) continue;
      if (isObjectMissing(error, key.name)) {
        throw new CommandError(`there is no ExternalWorkload ${shown}`);
      }
      if (isKindMissing(error, key.name)) throw kindMissing();
      throw error;
    }
  }
}
