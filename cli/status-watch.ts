import { describeError } from '../core/errors.ts';
import { sleep } from '../platform/process/sleep.ts';
import type { ClusterPart, Filters, StatusReport } from './status-report.ts';

/** From one look to the next, ms. */
const LOOK_EVERY_MS = 1_000;
/** What the API server alone knows costs a list of all slices: it is asked for so often, ms. */
const ASK_EVERY_MS = 30_000;

export interface StatusWatch {
  /** @throws while Redis is away. */
  readonly collect: () => Promise<StatusReport>;
  readonly show: (report: StatusReport) => void;
  /** Told, in one sentence, what kept a look from being taken. */
  readonly onTrouble: (reason: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Looks every second until the signal. A look that fails is told and does not end the watch: an outage is
 * what somebody may be watching for.
 *
 * @throws what the first look throws: then something is wrong with how it was called.
 */
export async function watchStatus(watch: StatusWatch): Promise<void> {
  const { collect, show, onTrouble, signal } = watch;
  for (let looks = 0; !signal.aborted; looks++) {
    try {
      show(await collect());
    } catch (error) {
      if (signal.aborted) return;
      if (looks === 0) throw error;
      onTrouble(describeError(error));
    }
    await sleep(LOOK_EVERY_MS, signal);
  }
}

/** The same question, whose answer is good for half a minute; a new one is fetched while the old one serves. */
export function askSeldom(
  ask: (filters: Filters) => Promise<ClusterPart>,
  monotonicMs: () => number,
): (filters: Filters) => Promise<ClusterPart> {
  let latest: Promise<ClusterPart> | undefined;
  let askedAt = -Infinity;
  return async (filters) => {
    if (latest === undefined || monotonicMs() - askedAt >= ASK_EVERY_MS) {
      askedAt = monotonicMs();
      const asked = ask(filters);
      const before = latest;
      latest = before ?? asked;
      // Until it is there, and if it fails (which it does only when it is stopped), the one before serves.
      asked.then(
        () => (latest = asked),
        () => undefined,
      );
    }
    return latest;
  };
}
