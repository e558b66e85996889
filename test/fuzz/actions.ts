import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, UnreachableError } from '../../core/errors.ts';
import { damage } from './damage.ts';
import { keyOf, type Action, type Target } from './schedule/steps.ts';
import type { Stage } from './stage.ts';

/** What came of the changes of a run. */
export interface ActionCounts {
  done: number;
  /** What it was about was not there any more, or was there already: faults have that effect. */
  missed: number;
  /** Sentences of the API server: the schedule asked for something that is not allowed. */
  readonly refused: string[];
}

const RETRY_MS = 100;
const MERGE = 'application/merge-patch+json';

/** Makes one change, however long the API server is away. */
export async function act(
  stage: Stage,
  action: Action,
  counts: ActionCounts,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    try {
      await perform(stage, action);
      counts.done += 1;
      return;
    } catch (error) {
      if (!mayPass(error)) return note(action, error, counts);
    }
    await delay(RETRY_MS, undefined, { signal });
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof UnreachableError) return true;
  return error instanceof ApiError && (error.status === 429 || error.status >= 500);
}

function note(action: Action, error: unknown, counts: ActionCounts): void {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 404 || error.status === 409) counts.missed += 1;
  else counts.refused.push(`${action.do} ${keyOf(action.target)}: ${error.message}`);
}

async function perform(stage: Stage, action: Action): Promise<void> {
  const { client } = stage;
  const { target } = action;
  const options = { what: `${action.do} ${keyOf(target)}` };
  switch (action.do) {
    case 'create service':
      return void (await client.create(servicePath({ ...target, name: '' }), action.body, options));
    case 'patch service':
      return void (await client.patch(servicePath(target), action.body, MERGE, options));
    case 'delete service':
      return void (await client.delete(servicePath(target), undefined, options));
    case 'create workload':
      await client.create(workloadPath({ ...target, name: '' }), action.body, options);
      if (action.ready !== null) await sayReady(stage, target, action.ready);
      return;
    case 'patch workload':
      return void (await client.patch(workloadPath(target), action.body, MERGE, options));
    case 'say ready':
      return sayReady(stage, target, action.ready);
    case 'delete workload':
      return void (await client.delete(workloadPath(target), undefined, options));
    case 'damage':
      return damage(stage.client, action);
    case 'reconcile':
      // Whoever asks while Redis is away is told so, and may ask again.
      return stage.queue.ask(target).catch(() => undefined);
  }
}

async function sayReady({ client }: Stage, target: Target, ready: boolean): Promise<void> {
  const status = ready ? 'True' : 'False';
  const conditions = [{ type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z' }];
  await client.patch(`${workloadPath(target)}/status`, { status: { conditions } }, MERGE, {
    what: `say ready ${keyOf(target)}`,
  });
}

function servicePath(target: Target): string {
  return pathOf('/api/v1', 'services', target);
}

function workloadPath(target: Target): string {
  return pathOf('/apis/workload.linkerd.io/v1beta1', 'externalworkloads', target);
}

function pathOf(api: string, resource: string, { namespace, name }: Target): string {
  return `${api}/namespaces/${namespace}/${resource}${name === '' ? '' : `/${name}`}`;
}
