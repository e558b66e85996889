/** Base of every error that Tether raises on purpose; `code` is stable and safe to log or count. */
export abstract class TetherError extends Error {
  abstract readonly code: string;
}

/** Somebody handed over something that cannot be right; retrying it is useless. */
export class InvalidInputError extends TetherError {
  readonly code = 'InvalidInput';
  readonly field: string;
  constructor(field: string, message: string) {
    super(message);
    this.name = 'InvalidInputError';
    this.field = field;
  }
}

/** What a Kubernetes API server answered when it did not answer with success. */
export interface ApiFailure {
  /** HTTP status code. */
  readonly status: number;
  /** `Status.reason`, such as `Conflict`, `AlreadyExists`, `Forbidden`; empty when there was none. */
  readonly reason: string;
  /** `Status.message`, written by the API server. */
  readonly message: string;
  /** `Status.details.causes`, such as a field that validation refused. */
  readonly causes: readonly {
    readonly reason: string;
    readonly field: string;
    readonly message: string;
  }[];
  /** From `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** The API server refused a request. `what` says which one: `update endpointslices ns/name`. */
export class ApiError extends TetherError {
  readonly code = 'ApiError';
  readonly what: string;
  readonly failure: ApiFailure;
  constructor(what: string, failure: ApiFailure) {
    super(`${what}: ${[failure.status, failure.reason].join(' ').trim()}: ${failure.message}`);
    this.name = 'ApiError';
    this.what = what;
    this.failure = failure;
  }
  get status(): number {
    return this.failure.status;
  }
}

/** HTTP statuses of a gateway that has no server behind it, and of an API server that is starting. */
export const NO_SERVER: ReadonlySet<number> = new Set([502, 503, 504]);

/** The API server's own word that an object is not there; a proxy's 404 has no such reason. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.failure.reason === 'NotFound';
}

/** The API server (or Redis) could not be reached, or did not answer in time. */
export class UnreachableError extends TetherError {
  readonly code = 'Unreachable';
  readonly what: string;
  constructor(what: string, cause: unknown) {
    super(`${what}: ${describeError(cause)}`, { cause });
    this.name = 'UnreachableError';
    this.what = what;
  }
}

/** The API server does not know ExternalWorkload: nothing can be read until the CRD is there. */
export class MissingKindError extends TetherError {
  readonly code = 'MissingKind';
  constructor(what: string) {
    super(
      `${what}: the cluster does not know ExternalWorkload (workload.linkerd.io/v1beta1): ` +
        'run `tether install`',
    );
    this.name = 'MissingKindError';
  }
}

/** The key's lock went to somebody else while a run was under way; nothing more may be written. */
export class LockLostError extends TetherError {
  readonly code = 'LockLost';
  constructor(key: string) {
    super(`the lock of ${key} was lost while its run was under way; another run goes on`);
    this.name = 'LockLostError';
  }
}

/** Redis did not say whose the key's lock is; the write that had to know was not made. */
export class LockUnknownError extends TetherError {
  readonly code = 'LockUnknown';
  constructor(key: string, cause: unknown) {
    super(`check the lock of ${key}: ${describeError(cause)}`, { cause });
    this.name = 'LockUnknownError';
  }
}

/** A run was told to end before its next write: nobody's failure, its key is to come again. */
export abstract class RunEndedError extends TetherError {}

/** The process is being stopped; the key goes back to the queue. */
export class ShutdownError extends RunEndedError {
  readonly code = 'Shutdown';
  constructor() {
    super('the process is stopping');
    this.name = 'ShutdownError';
  }
}

/** The time is over that whoever asked for the run gives it; they come again. */
export class OverdueError extends RunEndedError {
  readonly code = 'Overdue';
  constructor(deadlineMs: number) {
    super(`the run was cut after ${deadlineMs / 1000} s (--function-deadline)`);
    this.name = 'OverdueError';
  }
}

/** A one-line description of anything that was thrown, with the cause where the message hides it. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describeError).join('; ');
  }
  const cause = error.cause instanceof Error && !error.message.includes(error.cause.message);
  return cause ? `${error.message} (${describeError(error.cause)})` : error.message;
}

/** Closes a switch over a union: the compiler fails where a member was forgotten. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected ${JSON.stringify(value)}`);
}
