import { ApiError, describeError, NO_SERVER, UnreachableError } from '../../core/errors.ts';
import { WatchDamagedError } from '../../platform/kube/client.ts';

/** The sink threw: the state that it keeps can no longer be trusted. */
export class SinkError extends Error {
  constructor(step: string, cause: unknown) {
    super(`the consumer failed ${step}: ${describeError(cause)}`, { cause });
    this.name = 'SinkError';
  }
}

/** What to do about an error of the loop. */
export interface Verdict {
  /** `resume`: watch again from the last version seen; `wait-for-kind`: list until the kind is served. */
  readonly next: 'resume' | 'relist' | 'wait-for-kind';
  /** The server asked for at least this pause, in ms. */
  readonly retryAfterMs: number;
  /** One sentence for a person. */
  readonly reason: string;
  /** The server answers: going on from the same version may be what fails. */
  readonly suspectVersion: boolean;
  /** Nobody answered, or a gateway in its place: there is no server to be spared. */
  readonly unreachable: boolean;
}

/** A nonsensical Retry-After must not put a cluster out of sight for days; ms. */
const MAX_RETRY_AFTER_MS = 300_000;
/** Statuses that have nothing to do with what was asked for. */
const PASSING: ReadonlySet<number> = new Set([401, 403, 429, ...NO_SERVER]);

/** Pure: judges by type and status, never by the text of a message, but where the API has no other sign. */
export function verdictOf(error: unknown): Verdict {
  const reason = describeError(error);
  if (error instanceof SinkError) return verdict('relist', reason);
  if (!(error instanceof ApiError)) {
    return verdict('resume', reason, {
      suspectVersion: error instanceof WatchDamagedError,
      unreachable: error instanceof UnreachableError,
    });
  }
  const retryAfterMs = Math.min(error.failure.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  if (error.status === 404) {
    const hint = `${reason}; the server does not serve this kind: is its CRD installed?`;
    return verdict('wait-for-kind', hint, { retryAfterMs });
  }
  if (historyIsGone(error)) return verdict('relist', reason, { retryAfterMs });
  const suspectVersion = !PASSING.has(error.status);
  const unreachable = NO_SERVER.has(error.status);
  return verdict('resume', reason, { retryAfterMs, suspectVersion, unreachable });
}

/** The version is too old (compacted), or newer than the server knows (restored from a backup). */
function historyIsGone({ status, failure }: ApiError): boolean {
  if (status === 410 || failure.reason === 'Expired' || failure.reason === 'Gone') return true;
  const tooLarge = failure.causes.some((cause) => cause.reason === 'ResourceVersionTooLarge');
  return tooLarge || /too large resource version|has been compacted/i.test(failure.message);
}

function verdict(next: Verdict['next'], reason: string, rest: Partial<Verdict> = {}): Verdict {
  return { retryAfterMs: 0, suspectVersion: false, unreachable: false, ...rest, next, reason };
}
