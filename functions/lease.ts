import { LockLostError, LockUnknownError } from '../core/errors.ts';
import { formatKey, type ObjectKey } from '../core/object-key.ts';
import type { SliceRecord } from '../core/records.ts';
import type { Finished, ServiceView, Verdict, World } from '../platform/redis/view/service-view.ts';

/** Milliseconds. The lock outlives two lost renewals; a dead holder is succeeded within `ttl`. */
const LEASE_TIMES = { ttl: 2_000, renewEvery: 600, trust: 250 } as const;

/** A key that is locked elsewhere, or whose lock was lost, comes back after so many ms (docs/lock.md). */
export const LOCKED_RETRY_MS = 200;

/** The right to write for one key, for as long as it lasts. */
export interface Lease {
  /** Aborted when the lock is lost, or when the caller's own signal is. */
  readonly signal: AbortSignal;
  /** What was read together with the lock; null when the view could not be read. */
  readonly world: World | null;
  /**
   * To be awaited before each write. Trusts what Redis said up to 250 ms ago, else asks again.
   *
   * @throws LockLostError once the lock is somebody else's, LockUnknownError when Redis is gone, or
   * the reason of the caller's abort.
   */
  confirm(): Promise<void>;
  /** Ends the run: records the slices, settles the failure count, gives the lock back. */
  finish(
    verdict: Verdict,
    written: readonly SliceRecord[],
    deleted: readonly SliceRecord[],
  ): Promise<Finished>;
  /**
   * Ends the renewals, so that a lock that was not given back runs out; `finish` does so first. Whoever
   * takes a lease calls one of the two in the end, whatever became of the run: a lease that outlives its run
   * is a key that nobody runs again.
   */
  end(): void;
}

/** The lock as a lease wants it; a view of Services gives it together with what it reads. */
export type LeaseView = Pick<ServiceView, 'acquire' | 'renew' | 'finish'>;

export interface LeaseRequest {
  readonly key: ObjectKey;
  readonly token: string;
  readonly read: boolean;
  readonly view: LeaseView;
  readonly signal: AbortSignal;
  /** Milliseconds of a clock that never goes back; only differences are used. */
  readonly monotonicMs: () => number;
}

export type LeaseAnswer =
  { readonly held: false; readonly freeInMs: number } | { readonly held: true; lease: Lease };

/**
 * Takes the key's lock and reads its world, in one round trip, and keeps the lock until `finish`.
 * Expiry is judged by Redis; the local clock only measures how long ago Redis last said yes.
 */
export async function acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
  const { key, token, view, monotonicMs } = request;
  let confirmedAt = monotonicMs();
  const answer = await view.acquire(key, token, LEASE_TIMES.ttl, request.read);
  if (!answer.held) return { held: false, freeInMs: answer.freeInMs };

  const { signal, abort, dispose } = endingWith(request.signal);

  const renew = async (): Promise<void> => {
    const askedAt = monotonicMs();
    if (await view.renew(key, token, LEASE_TIMES.ttl)) confirmedAt = askedAt;
    else abort(new LockLostError(formatKey(key)));
  };
  const timer = setInterval(() => {
    renew().catch(() => {
      // Redis did not answer: the lock may still be ours, until its time has run out for certain.
      if (monotonicMs() - confirmedAt > LEASE_TIMES.ttl) {
        abort(new LockLostError(formatKey(key)));
      }
    });
  }, LEASE_TIMES.renewEvery);

  const confirm = async (): Promise<void> => {
    signal.throwIfAborted();
    if (monotonicMs() - confirmedAt <= LEASE_TIMES.trust) return;
    try {
      await renew();
    } catch (error) {
      throw new LockUnknownError(formatKey(key), error);
    }
    signal.throwIfAborted();
  };
  const end = (): void => {
    clearInterval(timer);
    dispose();
  };
  const finish: Lease['finish'] = (verdict, written, deleted) => {
    end();
    return view.finish(key, token, verdict, written, deleted);
  };
  return { held: true, lease: { signal, world: answer.world, confirm, finish, end } };
}

/** A signal that follows another one and can be ended by itself; AbortSignal.any costs far more. */
function endingWith(outer: AbortSignal): {
  readonly signal: AbortSignal;
  readonly abort: (reason: Error) => void;
  readonly dispose: () => void;
} {
  const controller = new AbortController();
  const follow = (): void => controller.abort(outer.reason);
  if (outer.aborted) follow();
  else outer.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    dispose: () => outer.removeEventListener('abort', follow),
  };
}
