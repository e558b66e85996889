import { InvalidInputError } from '../../core/errors.ts';
import { parseReconcileRequest, type ReconcileRequest } from '../../core/reconcile-request.ts';
import type { Gate } from './bearer-gate.ts';
import { MAX_BODY_BYTES, refusal, type HttpAnswer, type HttpRequest } from './exchange.ts';

export type Admitted = { readonly asked: ReconcileRequest } | { readonly refused: HttpAnswer };

/**
 * Whether a request asks for a reconcile, and for which: the same checks for whoever enqueues the key
 * and whoever runs it. Who has no token learns nothing of what else is wrong.
 */
export function admitReconcile(request: HttpRequest, gate: Pick<Gate, 'admits'>): Admitted {
  const { method, authorization, contentType, body } = request;
  if (method !== 'POST') {
    const error = `${method} asks for nothing here: use POST`;
    return { refused: refusal(405, 'MethodNotAllowed', error, { allow: 'POST' }) };
  }
  if (!gate.admits(authorization)) {
    const error = 'send the token of --trigger-token as Authorization: Bearer TOKEN';
    return { refused: refusal(401, 'Unauthorized', error, { 'www-authenticate': 'Bearer' }) };
  }
  // Also what keeps a form on somebody's web page from being taken for a request.
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? '')) {
    const error = 'send JSON, and say so: Content-Type: application/json';
    return { refused: refusal(415, 'UnsupportedMediaType', error) };
  }
  if (body === null) {
    const error = `the body is longer than ${MAX_BODY_BYTES} bytes: send a kind and a key`;
    return { refused: refusal(413, 'ContentTooLarge', error) };
  }
  try {
    return { asked: parseReconcileRequest(body) };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    return { refused: refusal(400, 'BadRequest', error.message) };
  }
}
