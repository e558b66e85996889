import { assertNever, describeError } from '../../../core/errors.ts';
import type { QueueName } from '../../../core/job.ts';
import { formatKey } from '../../../core/object-key.ts';
import type { Disposition, Handle } from '../../redis/queue/disposition.ts';
import type { Attributes, Span, Tracer } from './tracer.ts';

/** Names of a run's slices that its span tells at most. */
const MOST_NAMES = 20;
/** What a result may have, and a span tells: `ReconcileResult`'s counts, and how the state was read. */
const COUNTS = ['created', 'updated', 'deleted', 'endpoints', 'ready'] as const;

/** The same handler; each run is a span of the trace that its job carries, or of one of its own. */
export function traceRuns(handle: Handle, queue: QueueName, tracer: Tracer | undefined): Handle {
  if (tracer === undefined) return handle;
  return async (job, signal) => {
    const span = tracer.start(`reconcile ${queue}`, {
      kind: 'consumer',
      parent: job.trace,
      attributes: {
        'tether.key': formatKey(job.key),
        'tether.class': job.class,
        'messaging.system': 'bullmq',
        'messaging.destination.name': queue,
        'messaging.message.id': job.id,
        ...(job.reason === undefined ? {} : { 'tether.reason': job.reason }),
      },
    });
    try {
      const disposition = await tracer.within(span, () => handle(job, signal));
      tell(span, disposition);
      return disposition;
    } catch (error) {
      span.fail(describeError(error));
      throw error;
    } finally {
      span.end();
    }
  };
}

function tell(span: Span, disposition: Disposition): void {
  switch (disposition.kind) {
    case 'complete':
      span.set({ 'tether.outcome': 'done', ...resultOf(disposition.result) });
      return;
    case 'later': {
      const { reason, delayMs, failures } = disposition;
      span.set({ 'tether.outcome': 'retry', 'tether.retry_in_ms': Math.round(delayMs) });
      if (failures === undefined) span.set({ 'tether.retry_reason': reason });
      else {
        span.set({ 'tether.failures': failures });
        span.fail(reason);
      }
      return;
    }
    case 'reject':
      span.set({ 'tether.outcome': 'terminal' });
      span.fail(disposition.error.message);
      return;
    default:
      assertNever(disposition);
  }
}

/** The few fields of a result that are known to be short and no secret; a result is JSON of some kind. */
function resultOf(result: unknown): Attributes {
  if (typeof result !== 'object' || result === null) return {};
  const fields = result as Readonly<Record<string, unknown>>;
  const told: Record<string, string | number | readonly string[]> = {};
  for (const name of COUNTS) {
    if (typeof fields[name] === 'number') told[`tether.${name}`] = fields[name];
  }
  if (typeof fields['read'] === 'string') told['tether.read'] = fields['read'];
  const names = fields['names'];
  if (Array.isArray(names)) told['tether.slices'] = names.slice(0, MOST_NAMES).map(String);
  return { ...told, ...decisionOf(fields['decision']) };
}

/** Of a cluster Secret. */
function decisionOf(decision: unknown): Attributes {
  if (typeof decision !== 'object' || decision === null) return {};
  const { cluster, verdict } = decision as {
    readonly cluster?: unknown;
    readonly verdict?: unknown;
  };
  return {
    ...(typeof cluster === 'string' ? { 'tether.cluster': cluster } : {}),
    ...(typeof verdict === 'string' ? { 'tether.verdict': verdict } : {}),
  };
}
