import type { Job } from 'bullmq';
import { backoffMs } from '../../../core/backoff.ts';
import { describeError, InvalidInputError, LockLostError } from '../../../core/errors.ts';
import { parseJob, type ReconcileJob } from '../../../core/job.ts';
import { formatKey } from '../../../core/object-key.ts';
import { classOf } from './classes.ts';
import type { ConsumedJob, Handle } from './disposition.ts';
import {
  fail,
  settle,
  shortenData,
  type Ending,
  type Mine,
  type SettleDeps,
} from './settle-job.ts';
import { waitingSince } from './waiting-since.ts';

export type { ConsumedJob, Disposition, Handle } from './disposition.ts';

/** A run under way. */
export interface ActiveRun {
  readonly key: string;
  readonly startedAt: number;
  readonly controller: AbortController;
  /** Gives the run up although its function has not returned: its job comes back by stalling. */
  readonly abandon: () => void;
}

export interface JobRunnerDeps extends SettleDeps {
  readonly handle: Handle;
  readonly onInvalid?: (jobId: string, error: InvalidInputError) => void;
}

export interface JobRunner {
  /** Runs by the id of their job. */
  readonly active: ReadonlyMap<string, ActiveRun>;
  /** BullMQ's processor. */
  process(job: Job, token: string | undefined): Promise<unknown>;
}

/** For a function that throws although it should not: a bug must not lose the key, nor spin. */
const THROWN = { baseMs: 50, capMs: 60_000 } as const;

/** Checks each job, runs its function and does with it what the function said. */
export function createJobRunner(deps: JobRunnerDeps): JobRunner {
  const active = new Map<string, ActiveRun>();
  return {
    active,
    process: async (job, token) => {
      if (job.id === undefined || token === undefined) throw new TypeError('a job without an id');
      const mine = { job, id: job.id, token };
      let parsed: ReconcileJob;
      try {
        parsed = parseJob(job.name, job.data);
      } catch (error) {
        if (!(error instanceof InvalidInputError)) throw error;
        deps.onInvalid?.(mine.id, error);
        await shortenData(mine, deps.log);
        return await fail(deps, mine, error);
      }
      const ending = await runFunction(deps, active, mine, parsed);
      return await settle(deps, mine, ending);
    },
  };
}

async function runFunction(
  deps: JobRunnerDeps,
  active: Map<string, ActiveRun>,
  { job, id }: Mine,
  parsed: ReconcileJob,
): Promise<Ending> {
  const controller = new AbortController();
  const abandoned = Promise.withResolvers<Ending>();
  const key = formatKey(parsed.key);
  const run: ActiveRun = {
    key,
    startedAt: performance.now(),
    controller,
    abandon: () => abandoned.resolve({ kind: 'abandoned' }),
  };
  // After a pause this process may be given a job that it still works on: the earlier run is over.
  active.get(id)?.controller.abort(new LockLostError(key));
  active.set(id, run);
  const handle = async (): Promise<Ending> => {
    const enqueuedAt = await waitingSince(deps, job, id);
    const consumed: ConsumedJob = {
      ...parsed,
      id,
      class: classOf(job.deduplicationId),
      enqueuedAt,
    };
    return deps.handle(consumed, controller.signal);
  };
  try {
    const ending = await Promise.race([handle(), abandoned.promise]);
    // Put off because it was told to stop: somebody else can take it now.
    return ending.kind === 'later' && controller.signal.aborted ? { kind: 'interrupted' } : ending;
  } catch (error) {
    if (controller.signal.aborted) return { kind: 'interrupted' };
    const delayMs = backoffMs(job.attemptsStarted, THROWN, Math.random);
    const reason = describeError(error);
    deps.log.error({ key, error, delayMs }, `reconcile of ${key} threw: ${reason}; trying again`);
    return { kind: 'later', delayMs, reason };
  } finally {
    if (active.get(id) === run) active.delete(id);
  }
}
