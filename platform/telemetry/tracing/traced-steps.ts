import { describeError } from '../../../core/errors.ts';
import type { ClientObserver } from '../../kube/observe.ts';
import { resourceOf } from '../../kube/resource-path.ts';
import type { ClusterLock } from '../../redis/clusters/lock.ts';
import type { Acquired, ServiceView } from '../../redis/view/service-view.ts';
import type { Attributes, Tracer } from './tracer.ts';

/** The same view; within a run, taking the lock and giving it back are spans. */
export function traceView(view: ServiceView, tracer: Tracer | undefined): ServiceView {
  if (tracer === undefined) return view;
  return {
    ...view,
    acquire: step(tracer, 'lock and read view', view.acquire, whatIsHeld),
    finish: step(tracer, 'record and unlock', view.finish),
  };
}

/** The same locks; within a run, taking one and giving it back are spans. */
export function traceLock(lock: ClusterLock, tracer: Tracer | undefined): ClusterLock {
  if (tracer === undefined) return lock;
  return {
    ...lock,
    acquire: step(tracer, 'lock', lock.acquire, ({ held }) => ({ 'tether.held': held })),
    finish: step(tracer, 'unlock', lock.finish),
  };
}

/** Around each plan of a run. */
export function tracePlans(
  tracer: Tracer | undefined,
): (<P extends { readonly writes: readonly unknown[] }>(plan: () => P) => P) | undefined {
  if (tracer === undefined) return undefined;
  return (plan) => {
    const parent = tracer.current();
    if (parent === undefined) return plan();
    const span = tracer.start('plan', { parent });
    try {
      const made = plan();
      span.set({ 'tether.writes': made.writes.length });
      return made;
    } finally {
      span.end();
    }
  };
}

/** The verbs whose object has a name. */
const OF_ONE: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch', 'delete']);

/** What a client tells of its requests: those of a run are spans, with what the API server answered. */
export function traceRequests(tracer: Tracer | undefined): Pick<ClientObserver, 'onBegin'> {
  if (tracer === undefined) return {};
  return {
    onBegin: (verb, path, what) => {
      const parent = tracer.current();
      const resource = resourceOf(path);
      // Events go their own way, later, and those of several runs together.
      if (parent === undefined || verb === 'watch' || resource === 'events') return undefined;
      const name = what.slice(what.lastIndexOf(' ') + 1);
      const span = tracer.start(`${verb} ${resource}`, {
        kind: 'client',
        parent,
        attributes: {
          'tether.verb': verb,
          'tether.resource': resource,
          ...(OF_ONE.has(verb) ? { 'tether.name': name } : {}),
        },
      });
      return (code) => {
        if (code === 0) span.fail('no answer');
        else span.set({ 'http.response.status_code': code });
        if (code >= 400) span.fail(`the API server answered ${code}`);
        span.end();
      };
    },
  };
}

function whatIsHeld(acquired: Acquired): Attributes {
  if (!acquired.held) return { 'tether.held': false };
  return { 'tether.held': true, 'tether.view': acquired.world === null ? 'not read' : 'read' };
}

/** The function; within a run, each call is a span. */
function step<A extends unknown[], R>(
  tracer: Tracer,
  name: string,
  run: (...args: A) => Promise<R>,
  describe: (result: R) => Attributes = () => ({}),
): (...args: A) => Promise<R> {
  return async (...args) => {
    const parent = tracer.current();
    if (parent === undefined) return run(...args);
    const span = tracer.start(name, { parent });
    try {
      const result = await run(...args);
      span.set(describe(result));
      return result;
    } catch (error) {
      span.fail(describeError(error));
      throw error;
    } finally {
      span.end();
    }
  };
}
