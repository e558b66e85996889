import { assertNever } from '../core/errors.ts';
import type { QueueName } from '../core/job.ts';
import { jsonAnswer, refusal, retryAfter, type HttpAnswer } from '../platform/http/exchange.ts';
import { NOT_ENDED, type JobReport } from '../platform/redis/queue/outcomes.ts';

/** A key that is in its queue. */
export interface Queued {
  /** Of the job. */
  readonly id: string;
  readonly kind: QueueName;
  /** `namespace/name`. */
  readonly key: string;
}

/** To whoever does not wait. */
export function queuedAnswer(queued: Queued): HttpAnswer {
  return jsonAnswer(202, queued);
}

/** To whoever waited: 200 once it is known what came of it, 202 while it is not. */
export function reportAnswer(queued: Queued, report: JobReport): HttpAnswer {
  switch (report.kind) {
    case 'completed':
      return jsonAnswer(200, { ...queued, outcome: 'done', result: report.result });
    case 'failed':
      return jsonAnswer(200, { ...queued, outcome: 'terminal', reason: report.reason });
    case 'pending': {
      const { retries, reason = NOT_ENDED } = report;
      return jsonAnswer(202, { ...queued, outcome: 'pending', retries, reason });
    }
    case 'unknown': {
      const error = `Redis has lost job ${queued.id}: ask again`;
      return refusal(503, 'Unavailable', error, retryAfter(1_000));
    }
    default:
      return assertNever(report);
  }
}
