import type { TetherError } from '../../../core/errors.ts';
import type { ReconcileJob } from '../../../core/job.ts';
import type { JobClass } from './classes.ts';

/** A job as the function sees it. */
export interface ConsumedJob extends ReconcileJob {
  readonly id: string;
  readonly class: JobClass;
  /**
   * Since when the job waits for a run, ms since 1970, by the clock of whoever put it in line: since it was
   * added, or, where it was put off or put back since, since it was due again.
   */
  readonly enqueuedAt: number;
}

/** What is to become of a job. */
export type Disposition =
  /** Done. `result` is JSON and small: `--wait` prints it. */
  | { readonly kind: 'complete'; readonly result: unknown }
  /** Again after `delayMs`, or at once when its key is dirtied before. Never given up. */
  | {
      readonly kind: 'later';
      readonly delayMs: number;
      readonly reason: string;
      /**
       * How often in a row the key has failed; absent where nothing has, such as for a lock held elsewhere.
       * Told in traces alone: the queue waits for `delayMs`, whatever this is.
       */
      readonly failures?: number;
    }
  /** No use in trying again; kept for inspection. */
  | { readonly kind: 'reject'; readonly error: TetherError };

export type Handle = (job: ConsumedJob, signal: AbortSignal) => Promise<Disposition>;
