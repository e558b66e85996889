import { describeError, UnreachableError } from '../core/errors.ts';
import type { QueueName } from '../core/job.ts';
import type { Logger } from '../core/logger.ts';
import { formatKey } from '../core/object-key.ts';
import type { ReconcileRequest } from '../core/reconcile-request.ts';
import type { Gate } from '../platform/http/bearer-gate.ts';
import {
  refusal,
  retryAfter,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
} from '../platform/http/exchange.ts';
import { admitReconcile } from '../platform/http/reconcile-request.ts';
import type { WorkQueue } from '../platform/redis/queue/work-queue.ts';
import { queuedAnswer, reportAnswer, type Queued } from './answers.ts';
import { parseWait } from './wait.ts';

/** The queue as a trigger uses it. */
export type TriggerQueue = Pick<WorkQueue, 'addOnDemand' | 'waitFor' | 'countOnDemand'>;

export interface TriggerOptions {
  readonly queues: Readonly<Record<QueueName, TriggerQueue>>;
  readonly gate: Pick<Gate, 'admits'>;
  readonly log: Logger;
  /** Called with the HTTP status of each answer. */
  readonly answered: (code: number) => void;
  /** Aborted when the process stops: nobody is kept waiting. */
  readonly stopping: AbortSignal;
  /** Default 64: each waits on a connection to Redis of its own. */
  readonly mostWaiting?: number;
  /** Default 1,000: more would be in front of everybody else for seconds. */
  readonly mostQueued?: number;
}

/** For an answer that is not to be had now, ms. */
const AGAIN_MS = 1_000;

/**
 * `POST /v1/reconcile`: puts one key into its queue, first in line, as `tether reconcile` does, and with
 * `?wait=true` answers what came of it. Asking again is always safe.
 */
export function createTrigger(options: TriggerOptions): HttpHandler {
  const trigger = new Trigger(options);
  return async (request, gone) => {
    const answer = await trigger.answer(request, gone);
    options.answered(answer.status);
    return answer;
  };
}

class Trigger {
  readonly #options: TriggerOptions;
  #waiting = 0;

  constructor(options: TriggerOptions) {
    this.#options = options;
  }

  async answer(request: HttpRequest, gone: AbortSignal): Promise<HttpAnswer> {
    const admitted = admitReconcile(request, this.#options.gate);
    if ('refused' in admitted) return admitted.refused;
    const waitMs = parseWait(request.query);
    if (typeof waitMs === 'string') return refusal(400, 'BadRequest', waitMs);
    try {
      return await this.#serve(admitted.asked, waitMs, gone);
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      const reason = `${describeError(error)}; asking again is always safe`;
      return refusal(503, 'Unavailable', reason, retryAfter(AGAIN_MS));
    }
  }

  async #serve(
    asked: ReconcileRequest,
    waitMs: number | null,
    gone: AbortSignal,
  ): Promise<HttpAnswer> {
    const { queues, mostWaiting = 64, mostQueued = 1_000 } = this.#options;
    if (waitMs !== null && this.#waiting >= mostWaiting) {
      return busy(`${mostWaiting} requests wait for their outcome already: leave wait out`);
    }
    const queue = queues[asked.kind];
    this.#waiting += waitMs === null ? 0 : 1;
    try {
      // Those that back off count as well: they come back, and are first in line again.
      if ((await queue.countOnDemand()) >= mostQueued) {
        return busy(`${mostQueued} keys that were asked for wait already`);
      }
      const queued = await this.#enqueue(queue, asked);
      return waitMs === null ? queuedAnswer(queued) : await this.#wait(queue, queued, waitMs, gone);
    } finally {
      this.#waiting -= waitMs === null ? 0 : 1;
    }
  }

  async #enqueue(queue: TriggerQueue, { kind, key }: ReconcileRequest): Promise<Queued> {
    const id = await queue.addOnDemand(key, 'asked for over HTTP');
    const queued = { id, kind, key: formatKey(key) };
    this.#options.log.info({ ...queued }, 'asked for over HTTP');
    return queued;
  }

  async #wait(
    queue: TriggerQueue,
    queued: Queued,
    timeoutMs: number,
    gone: AbortSignal,
  ): Promise<HttpAnswer> {
    const signal = AbortSignal.any([gone, this.#options.stopping]);
    try {
      return reportAnswer(queued, await queue.waitFor(queued.id, { timeoutMs, signal }));
    } catch (error) {
      if (!signal.aborted) throw error;
      // The key is in the queue all the same.
      const reason = 'the process that was asked is stopping';
      return reportAnswer(queued, { kind: 'pending', retries: 0, reason });
    }
  }
}

function busy(error: string): HttpAnswer {
  return refusal(429, 'TooManyRequests', error, retryAfter(AGAIN_MS));
}
