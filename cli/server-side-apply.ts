import { ApiError } from '../core/errors.ts';
import type { KubeClient } from '../platform/kube/client.ts';
import { CommandError } from './failures.ts';

const FIELD_MANAGER = 'tether';

/** One object to be applied. */
export interface Applied {
  /** What messages call it: `serviceaccount tether/tether-remote`. */
  readonly name: string;
  /** Of the object itself, such as `/api/v1/namespaces/tether`. */
  readonly path: string;
  readonly object: unknown;
  /** Takes fields over that others have set. */
  readonly force: boolean;
}

/**
 * Server-side apply under the field manager `tether`; gives the object as it is afterwards.
 *
 * @throws CommandError that names the fields, when others own some of them and `force` is not set.
 */
export async function serverSideApply<T>(
  client: KubeClient,
  { name, path, object, force }: Applied,
  signal: AbortSignal,
): Promise<T> {
  const query = { fieldManager: FIELD_MANAGER, ...(force ? { force: 'true' } : {}) };
  const options = { what: `apply ${name}`, signal, query };
  try {
    return await client.patch<T>(path, object, 'application/apply-patch+yaml', options);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    const fields = error.failure.causes.map(({ field, message }) => `${field} (${message})`);
    throw new CommandError(
      `${name}: others changed fields of it: ${fields.join(', ') || error.failure.message}; ` +
        '--force overrules them',
    );
  }
}
