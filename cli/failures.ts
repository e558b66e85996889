import { ApiError, TetherError } from '../core/errors.ts';

/** A command cannot do what it was asked; the message says why, and what to do. */
export class CommandError extends TetherError {
  readonly code = 'Command';
}

/** True when the API server knows the kind but not the object. */
export function isObjectMissing(error: unknown, name: string): boolean {
  return isNotFound(error) && error.failure.message.includes(`"${name}" not found`);
}

/** True when the API server does not know the kind at all: its CRD is not installed. */
export function isKindMissing(error: unknown, name = ''): boolean {
  return isNotFound(error) && !(name !== '' && isObjectMissing(error, name));
}

/** What to tell whoever asks for an ExternalWorkload in a cluster that has never heard of them. */
export function kindMissing(): CommandError {
  return new CommandError(
    'the cluster does not know ExternalWorkload (workload.linkerd.io/v1beta1): run `tether install`',
  );
}

function isNotFound(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 404;
}
