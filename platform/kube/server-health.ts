import { NO_SERVER } from '../../core/errors.ts';
import type { MaybePromise } from './credentials.ts';
import type { KubeAccess } from './kubeconfig-access.ts';
import { explainNetworkError } from './network-errors.ts';
import { createTransport } from './transport.ts';

/** How an API server is, as far as one request can tell. `reason` is one sentence for a person. */
export type ServerHealth =
  /** It takes requests; what becomes of a single one is another matter. */
  | { readonly kind: 'answers' }
  /** It answers, and says of itself that it is not ready. */
  | { readonly kind: 'starting'; readonly reason: string }
  /** Nobody answers, or somebody who stands before it and cannot reach it. */
  | { readonly kind: 'away'; readonly reason: string };

/** Open to every user of a cluster, and never queued behind other requests by the server. */
const PATH = '/readyz';
/** The server looks at flags in its memory for the answer. */
const DEADLINE_MS = 2_000;

/**
 * Asks an API server whether it is ready, over a new connection: one that hangs says nothing about the
 * server that answers now, and neither do requests that wait for a connection. Never rejects; an
 * answer takes 2 s at most, whatever an exec plugin takes for the credential.
 */
export async function askHealth(access: KubeAccess, signal: AbortSignal): Promise<ServerHealth> {
  const transport = createTransport(access, { connections: 1, maxAnswerBytes: 0 });
  const { server, origin, prefix } = transport;
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const cut = AbortSignal.any([signal, deadline]);
  try {
    const headers = await unlessAborted(transport.headers(''), cut);
    const { statusCode, body } = await transport.requests().request({
      origin,
      path: prefix + PATH,
      method: 'GET',
      headers,
      signal: cut,
    });
    await body.dump();
    if (statusCode === 401) transport.unauthorized();
    if (NO_SERVER.has(statusCode)) {
      return { kind: 'away', reason: `${server} answers ${statusCode}` };
    }
    if (statusCode !== 500) return { kind: 'answers' };
    return { kind: 'starting', reason: `${server} says that it is not ready yet` };
  } catch (error) {
    const late = `${server} gave no answer within ${DEADLINE_MS / 1000} s`;
    const reason = deadline.aborted ? late : explainNetworkError(server, error).message;
    return { kind: 'away', reason };
  } finally {
    await transport.close();
  }
}

/** Rejects with the signal's reason once it aborts; what was waited for goes on unheard. */
async function unlessAborted<T>(value: MaybePromise<T>, signal: AbortSignal): Promise<T> {
  if (!(value instanceof Promise)) return value;
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([value, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
