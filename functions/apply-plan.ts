import {
  ApiError,
  TetherError,
  UnreachableError,
  describeError,
  isNotFound,
} from '../core/errors.ts';
import type { ObjectKey } from '../core/object-key.ts';
import type { ServiceRecord, SliceRecord } from '../core/records.ts';
import type { EndpointApi } from '../platform/kube/endpoint-api.ts';
import { inParallel } from '../platform/process/in-parallel.ts';
import type { Lease } from './lease.ts';
import type { PlannedWrite, SlicePlan } from './plan/types.ts';
import { sliceBody } from './slice-body.ts';

/** How one write of a plan ended when it did not succeed. */
export type WriteProblem =
  /** The slice is not what the plan was made from: read again, plan again. */
  | { readonly kind: 'conflict'; readonly name: string }
  /** The name of a create is taken. */
  | { readonly kind: 'taken'; readonly name: string }
  /** The namespace is going away, and everything in it: nothing to do. */
  | { readonly kind: 'terminating' }
  /** 422: the API server refuses the content for good. */
  | { readonly kind: 'invalid'; readonly name: string; readonly error: ApiError }
  /** 403: a right is missing; somebody must grant it. */
  | { readonly kind: 'forbidden'; readonly error: ApiError }
  /** Not made, because a write that had to come first failed. */
  | { readonly kind: 'skipped'; readonly name: string }
  /** Anything that may pass: 429, 5xx, no answer, a lost lock. */
  | { readonly kind: 'failed'; readonly error: TetherError };

export interface ApplyResult {
  readonly written: readonly SliceRecord[];
  readonly deleted: readonly SliceRecord[];
  readonly counts: { readonly created: number; readonly updated: number; readonly deleted: number };
  readonly problems: readonly WriteProblem[];
}

export interface ApplyRequest {
  readonly key: ObjectKey;
  readonly service: Pick<ServiceRecord, 'name' | 'uid'>;
  readonly plan: SlicePlan;
  readonly triggerTime: string;
  readonly api: EndpointApi;
  readonly lease: Lease;
}

/** Writes of one plan that are under way at once. */
const PARALLEL = 8;

/**
 * Makes the writes of a plan: creates, then updates, then deletes, those of one kind in parallel. A
 * write waits for those that it must come after and is skipped when one of them failed, so that a
 * reader never misses an endpoint that both the old and the new state have (rule H2). A failure stops
 * nothing else of the plan.
 */
export async function applyPlan(request: ApplyRequest): Promise<ApplyResult> {
  const written: SliceRecord[] = [];
  const deleted: SliceRecord[] = [];
  const problems: WriteProblem[] = [];
  const counts = { created: 0, updated: 0, deleted: 0 };
  const succeeded = new Set<string>();

  const attempt = async (write: PlannedWrite): Promise<void> => {
    const result = await writeOne(request, write);
    if ('kind' in result) {
      problems.push(result);
      return;
    }
    succeeded.add(write.id);
    if (write.verb === 'delete') deleted.push(write.previous);
    else if (result.slice) written.push(result.slice);
    if (write.verb === 'create') counts.created += 1;
    else if (write.verb === 'update') counts.updated += 1;
    else if (result.gone === false) counts.deleted += 1;
  };

  for (const verb of ['create', 'update', 'delete'] as const) {
    let waiting = request.plan.writes.filter((write) => write.verb === verb);
    while (waiting.length > 0) {
      const ready = waiting.filter((write) => write.after.every((id) => succeeded.has(id)));
      if (ready.length === 0) break;
      await inParallel(ready, PARALLEL, attempt);
      const tried = new Set(ready);
      waiting = waiting.filter((write) => !tried.has(write));
    }
    for (const write of waiting) problems.push({ kind: 'skipped', name: nameOf(write) });
  }
  return { written, deleted, counts, problems };
}

type WriteResult = WriteProblem | { readonly slice?: SliceRecord; readonly gone?: boolean };

async function writeOne(request: ApplyRequest, write: PlannedWrite): Promise<WriteResult> {
  const { key, service, api, lease, triggerTime } = request;
  const { namespace } = key;
  try {
    await lease.confirm();
    if (write.verb === 'delete') {
      const there = await api.deleteSlice(namespace, write.previous, lease.signal);
      return { gone: !there };
    }
    const body = sliceBody(key, service, write, triggerTime);
    const { name } = write.slice;
    if (write.verb === 'create') {
      return { slice: await api.createSlice(namespace, name, body, lease.signal) };
    }
    return { slice: await api.replaceSlice(namespace, name, body, lease.signal) };
  } catch (error) {
    return classify(write, error);
  }
}

function classify(write: PlannedWrite, error: unknown): WriteProblem {
  if (!(error instanceof ApiError)) {
    const known = error instanceof TetherError;
    return { kind: 'failed', error: known ? error : new UnreachableError('write', error) };
  }
  const name = nameOf(write);
  const { status, reason, causes } = error.failure;
  if (status === 409) return { kind: reason === 'AlreadyExists' ? 'taken' : 'conflict', name };
  const notFound = isNotFound(error);
  if (notFound && write.verb === 'update') return { kind: 'conflict', name };
  if (causes.some((cause) => cause.reason === 'NamespaceTerminating')) {
    return { kind: 'terminating' };
  }
  // The namespace went between the plan and the write: its objects are gone with it.
  if (notFound) return { kind: 'terminating' };
  if (status === 422) return { kind: 'invalid', name, error };
  if (status === 403) return { kind: 'forbidden', error };
  return { kind: 'failed', error };
}

function nameOf(write: PlannedWrite): string {
  return write.verb === 'delete' ? write.previous.name : write.slice.name;
}

/** One sentence for logs and Events about what went wrong. */
export function describeProblem(problem: WriteProblem): string {
  switch (problem.kind) {
    case 'conflict':
      return `endpointslice ${problem.name} was changed by somebody else meanwhile`;
    case 'taken':
      return `the name ${problem.name} is taken`;
    case 'terminating':
      return 'the namespace is being deleted';
    case 'skipped':
      return `endpointslice ${problem.name} waits for a write that failed`;
    case 'forbidden':
      return describeForbidden(problem.error);
    case 'invalid':
    case 'failed':
      return describeError(problem.error);
  }
}

/** The authorizer's words; a quota or an admission policy refuses with 403 as well, and says how. */
const LACKS_RIGHT = /cannot (create|update|delete) resource/;
/** Those of the admission plugin OwnerReferencesPermissionEnforcement, which do not say whose finalizers. */
const LACKS_FINALIZERS = /cannot set blockOwnerDeletion/;

function describeForbidden(error: ApiError): string {
  const what = describeError(error);
  const { message } = error.failure;
  if (LACKS_FINALIZERS.test(message)) {
    return `${what}; grant the worker's role update on services/finalizers`;
  }
  if (!LACKS_RIGHT.test(message)) return what;
  return `${what}; grant the worker's role that verb on endpointslices`;
}
